// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A CUDA kernel's own: its arguments and its launch bounds, as clang notes them down.
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>

#include "codegen/host/dialect/nvptx/raise.h"

namespace mneme::codegen::host {
namespace {

// What "nvvm.annotations" says of a kernel: of each "what" the value, a number or a list of them.
void for_each_annotation(const llvm::Function& kernel,
                         llvm::function_ref<void(llvm::StringRef, const llvm::Metadata*)> visit) {
  const llvm::NamedMDNode* all = kernel.getParent()->getNamedMetadata("nvvm.annotations");
  if (!all) return;
  for (const llvm::MDNode* node : all->operands()) {
    if (node->getNumOperands() == 0) continue;
    auto* about = llvm::mdconst::dyn_extract_or_null<llvm::Function>(node->getOperand(0));
    if (about != &kernel) continue;
    for (unsigned i = 1; i + 1 < node->getNumOperands(); i += 2) {
      auto* what = llvm::dyn_cast_or_null<llvm::MDString>(node->getOperand(i));
      if (what) visit(what->getString(), node->getOperand(i + 1));
    }
  }
}

std::optional<uint64_t> number(const llvm::Metadata* metadata) {
  auto* constant = llvm::mdconst::dyn_extract_or_null<llvm::ConstantInt>(metadata);
  return constant ? std::optional(constant->getZExtValue()) : std::nullopt;
}

// __grid_constant__: nobody writes to it, and its address is the same for all. Arguments count from one.
bool is_grid_constant(const llvm::Argument& argument) {
  bool found = false;
  for_each_annotation(*argument.getParent(), [&](llvm::StringRef what, const llvm::Metadata* value) {
    auto* list = llvm::dyn_cast_or_null<llvm::MDNode>(value);
    if (what != "grid_constant" || !list) return;
    for (const llvm::MDOperand& entry : list->operands()) found |= number(entry.get()) == argument.getArgNo() + 1;
  });
  return found;
}

// Whether what a pointer leads to is only read, as far as can be seen.
bool is_only_read(const llvm::Value& pointer) {
  return llvm::all_of(pointer.uses(), [&](const llvm::Use& use) {
    const llvm::User* user = use.getUser();
    if (llvm::isa<llvm::LoadInst>(user)) return true;
    if (llvm::isa<llvm::GetElementPtrInst, llvm::AddrSpaceCastInst>(user)) return is_only_read(*user);
    if (auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(user)) return &use == &copy->getRawSourceUse();
    auto* call = llvm::dyn_cast<llvm::CallBase>(user);
    return call && call->isArgOperand(&use) && call->isByValArgument(call->getArgOperandNo(&use));
  });
}

// All work-items see the same there.
void mark_invariant(llvm::Value& pointer) {
  for (llvm::User* user : pointer.users()) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user)) {
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(load->getContext(), {}));
    } else if (llvm::isa<llvm::GetElementPtrInst, llvm::AddrSpaceCastInst>(user)) {
      mark_invariant(*user);
    }
  }
}

}  // namespace

std::optional<uint32_t> launch_bound(const llvm::Function& kernel) {
  uint64_t most = 1;
  bool known = false;
  for_each_annotation(kernel, [&](llvm::StringRef what, const llvm::Metadata* value) {
    if (what != "maxntidx" && what != "maxntidy" && what != "maxntidz") return;
    if (std::optional<uint64_t> size = number(value)) {
      most *= *size;
      known = true;
    }
  });
  if (!known) return std::nullopt;
  return static_cast<uint32_t>(std::min<uint64_t>(most, UINT32_MAX));
}

void take_kernel_arguments(llvm::Module& module, llvm::Function& kernel) {
  llvm::IRBuilder<> builder(&*kernel.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  const llvm::DataLayout& layout = module.getDataLayout();
  for (llvm::Argument& argument : kernel.args()) {
    if (!argument.hasByValAttr()) continue;
    llvm::Type* type = argument.getParamByValType();
    llvm::Align align = argument.getParamAlign().value_or(layout.getABITypeAlign(type));
    if (!is_grid_constant(argument) && !is_only_read(argument)) {
      llvm::IRBuilder<> entry(&kernel.getEntryBlock(), kernel.getEntryBlock().begin());
      llvm::AllocaInst* copy = entry.CreateAlloca(type);
      copy->setAlignment(align);
      argument.replaceAllUsesWith(copy);
      // The argument bytes need not be aligned as the structure is.
      builder.CreateMemCpy(copy, align, &argument, llvm::Align(1), layout.getTypeAllocSize(type));
    } else if (is_only_read(argument)) {
      mark_invariant(argument);
    }
    argument.removeAttr(llvm::Attribute::ByVal);
    argument.removeAttr(llvm::Attribute::Alignment);
    argument.addAttr(llvm::Attribute::getWithByRefType(module.getContext(), type));
  }
}

}  // namespace mneme::codegen::host
