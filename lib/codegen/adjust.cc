// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/adjust.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Operator.h>
#include <llvm/TargetParser/Triple.h>

#include "base/error.h"
#include "codegen/choices.h"

namespace mneme::codegen {
namespace {

constexpr char kAnnotations[] = "nvvm.annotations";
constexpr char kSizes[] = "amdgpu-flat-work-group-size";

bool is_nvptx(const llvm::Function& kernel) { return llvm::Triple(kernel.getParent()->getTargetTriple()).isNVPTX(); }

// CUDA's notes about a kernel, each a name and a number: those of these names go.
void drop_annotations(llvm::Function& kernel, llvm::ArrayRef<llvm::StringRef> names) {
  llvm::NamedMDNode* all = kernel.getParent()->getNamedMetadata(kAnnotations);
  if (!all) return;
  llvm::SmallVector<llvm::MDNode*> kept;
  for (llvm::MDNode* node : all->operands()) {
    auto* about =
        node->getNumOperands() ? llvm::mdconst::dyn_extract_or_null<llvm::Function>(node->getOperand(0)) : nullptr;
    if (about != &kernel) {
      kept.push_back(node);
      continue;
    }
    llvm::SmallVector<llvm::Metadata*> entries = {node->getOperand(0)};
    for (unsigned i = 1; i + 1 < node->getNumOperands(); i += 2) {
      auto* name = llvm::dyn_cast_or_null<llvm::MDString>(node->getOperand(i));
      if (name && llvm::is_contained(names, name->getString())) continue;
      entries.append({node->getOperand(i), node->getOperand(i + 1)});
    }
    if (entries.size() > 1) kept.push_back(llvm::MDNode::get(kernel.getContext(), entries));
  }
  all->clearOperands();
  for (llvm::MDNode* node : kept) all->addOperand(node);
}

void annotate(llvm::Function& kernel, llvm::StringRef name, uint32_t value) {
  llvm::LLVMContext& context = kernel.getContext();
  llvm::Metadata* entries[] = {
      llvm::ConstantAsMetadata::get(&kernel), llvm::MDString::get(context, name),
      llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value))};
  kernel.getParent()->getOrInsertNamedMetadata(kAnnotations)->addOperand(llvm::MDNode::get(context, entries));
}

// The value of a type that the bytes hold.
llvm::Constant* constant_of(llvm::Type* type, llvm::StringRef bytes, const llvm::DataLayout& layout) {
  uint64_t size = layout.getTypeStoreSize(type);
  if (size > bytes.size()) return nullptr;
  if (auto* structure = llvm::dyn_cast<llvm::StructType>(type)) {
    llvm::SmallVector<llvm::Constant*> members;
    for (unsigned i = 0; i < structure->getNumElements(); ++i) {
      uint64_t offset = layout.getStructLayout(structure)->getElementOffset(i);
      members.push_back(constant_of(structure->getElementType(i), bytes.drop_front(offset), layout));
      if (!members.back()) return nullptr;
    }
    return llvm::ConstantStruct::get(structure, members);
  }
  if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) {
    llvm::SmallVector<llvm::Constant*> elements;
    uint64_t stride = layout.getTypeAllocSize(array->getElementType());
    for (uint64_t i = 0; i < array->getNumElements(); ++i) {
      elements.push_back(constant_of(array->getElementType(), bytes.drop_front(i * stride), layout));
      if (!elements.back()) return nullptr;
    }
    return llvm::ConstantArray::get(array, elements);
  }
  llvm::APInt bits(static_cast<unsigned>(8 * size), 0);
  for (uint64_t i = 0; i < size; ++i) {
    bits.insertBits(static_cast<uint8_t>(bytes[i]), static_cast<unsigned>(8 * i), 8);
  }
  unsigned width = static_cast<unsigned>(layout.getTypeSizeInBits(type).getFixedValue());
  llvm::Constant* number = llvm::ConstantInt::get(type->getContext(), bits.trunc(width));
  if (type->isIntegerTy()) return number;
  if (type->isPointerTy()) return llvm::ConstantExpr::getIntToPtr(number, type);
  return llvm::ConstantExpr::getBitCast(number, type);
}

// A structure's bytes, which the kernel has in place of the argument.
llvm::Value* variable_of(llvm::Argument& argument, llvm::Type* type, llvm::StringRef bytes) {
  llvm::Function& kernel = *argument.getParent();
  llvm::Module& module = *kernel.getParent();
  constexpr unsigned kConstantSpace = 4;  // of both vendors
  auto* contents = llvm::ConstantDataArray::getString(module.getContext(), bytes, /*AddNull=*/false);
  auto* variable =
      new llvm::GlobalVariable(module, contents->getType(), true, llvm::GlobalValue::PrivateLinkage, contents,
                               "mneme.argument", nullptr, llvm::GlobalValue::NotThreadLocal, kConstantSpace);
  llvm::Align align = argument.getParamAlign().value_or(module.getDataLayout().getABITypeAlign(type));
  variable->setAlignment(align);
  llvm::IRBuilder<> builder(&kernel.getEntryBlock(), kernel.getEntryBlock().begin());
  if (argument.hasByRefAttr()) return builder.CreateAddrSpaceCast(variable, argument.getType());
  // Passed by value it is the kernel's to write to.
  llvm::AllocaInst* copy = builder.CreateAlloca(type);
  copy->setAlignment(align);
  builder.CreateMemCpy(copy, align, variable, align, bytes.size());
  return builder.CreateAddrSpaceCast(copy, argument.getType());
}

}  // namespace

void set_launch_bounds(llvm::Function& kernel, uint32_t max_threads, uint32_t min_blocks) {
  if (!is_nvptx(kernel)) {
    if (max_threads) kernel.addFnAttr(kSizes, "1," + llvm::utostr(max_threads));
    return;
  }
  if (max_threads) {
    drop_annotations(kernel, {"maxntidx", "maxntidy", "maxntidz"});
    annotate(kernel, "maxntidx", max_threads);
  }
  if (min_blocks) {
    drop_annotations(kernel, {"minctasm"});
    annotate(kernel, "minctasm", min_blocks);
  }
}

namespace {

// What the compiler of AMD's code is told of a kernel's only launch; it asks for the block's size there.
void fix_amd_dimensions(llvm::Function& kernel, const bundle::Dim3& grid, const bundle::Dim3& block) {
  llvm::LLVMContext& context = kernel.getContext();
  auto number = [&](uint32_t value) {
    return llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value));
  };
  kernel.setMetadata("reqd_work_group_size",
                     llvm::MDNode::get(context, {number(block.x), number(block.y), number(block.z)}));
  std::string threads = llvm::utostr(block.count());
  kernel.addFnAttr(kSizes, threads + "," + threads);
  kernel.addFnAttr("amdgpu-max-num-workgroups",
                   llvm::utostr(grid.x) + "," + llvm::utostr(grid.y) + "," + llvm::utostr(grid.z));
}

}  // namespace

void fix_dimensions(llvm::Function& kernel, const bundle::Dim3& grid, const bundle::Dim3& block) {
  if (!is_nvptx(kernel)) return fix_amd_dimensions(kernel, grid, block);
  const std::pair<const char*, uint32_t> known[] = {{"ntid.x", block.x},  {"ntid.y", block.y},  {"ntid.z", block.z},
                                                    {"nctaid.x", grid.x}, {"nctaid.y", grid.y}, {"nctaid.z", grid.z}};
  for (auto [name, value] : known) {
    llvm::Function* query = kernel.getParent()->getFunction(std::string("llvm.nvvm.read.ptx.sreg.") + name);
    if (!query) continue;
    for (llvm::User* user : llvm::make_early_inc_range(query->users())) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(user);
      if (!call) continue;
      call->replaceAllUsesWith(llvm::ConstantInt::get(call->getType(), value));
      call->eraseFromParent();
    }
  }
  drop_annotations(kernel, {"reqntidx", "reqntidy", "reqntidz", "maxntidx", "maxntidy", "maxntidz"});
  annotate(kernel, "reqntidx", block.x);
  annotate(kernel, "reqntidy", block.y);
  annotate(kernel, "reqntidz", block.z);
}

void fix_arguments(llvm::Function& kernel, const bundle::KernelInfo& info, const std::string& arguments,
                   const std::string& bytes) {
  const llvm::DataLayout& layout = kernel.getParent()->getDataLayout();
  for (size_t number : arguments_named(info, arguments)) {
    if (number >= kernel.arg_size()) {
      throw Error::of("the IR of kernel '{}' has no argument {}", info.demangled, number);
    }
    llvm::Argument& argument = *kernel.getArg(static_cast<unsigned>(number));
    const bundle::Argument& place = info.arguments[number];
    llvm::StringRef from = llvm::StringRef(bytes).drop_front(std::min<size_t>(place.offset, bytes.size()));
    llvm::Type* type = argument.getPointeeInMemoryValueType();
    llvm::Value* value = nullptr;
    if (!type) {
      value = constant_of(argument.getType(), from, layout);
    } else if (uint64_t size = layout.getTypeStoreSize(type); size <= from.size()) {
      value = variable_of(argument, type, from.take_front(size));
    }
    if (!value) {
      throw Error::of("argument {} of the kernel '{}' lies beyond the recorded argument bytes", number, info.demangled);
    }
    argument.replaceAllUsesWith(value);
  }
}

void add_fast_math(llvm::Module& module, const std::string& flags) {
  llvm::FastMathFlags added;
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(flags).split(names, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef name : names) {
    if (name == "reassoc") added.setAllowReassoc();
    if (name == "nnan") added.setNoNaNs();
    if (name == "ninf") added.setNoInfs();
    if (name == "nsz") added.setNoSignedZeros();
    if (name == "arcp") added.setAllowReciprocal();
    if (name == "contract") added.setAllowContract();
    if (name == "afn") added.setApproxFunc();
  }
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (llvm::isa<llvm::FPMathOperator>(instruction))
        instruction.setFastMathFlags(added | instruction.getFastMathFlags());
    }
  }
}

void add_attributes(llvm::Function& function, const std::string& attributes) {
  llvm::SmallVector<llvm::StringRef> list;
  llvm::StringRef(attributes).split(list, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef attribute : list) {
    auto [name, value] = attribute.split('=');
    if (attribute.contains('=')) {
      function.addFnAttr(name, value);
    } else {
      function.addFnAttr(llvm::Attribute::getAttrKindFromName(name));
    }
  }
}

}  // namespace mneme::codegen
