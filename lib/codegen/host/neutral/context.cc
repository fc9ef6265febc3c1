// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/neutral/context.h"

#include <llvm/IR/MDBuilder.h>

#include "codegen/host/neutral/fixed_launch.h"

namespace mneme::codegen::host {
namespace {

constexpr char kThreadContext[] = "mneme.thread.context";
// Names for readers of the IR.
constexpr char kTypeName[] = "mneme.context";
constexpr const char* kMemberNames[] = {"arguments",   "implicit",     "dispatch", "shared", "frames",
                                        "frames_size", "group",        "block",    "grid",   "shared_dynamic",
                                        "fault",       "fault_thread", "services", "launch", "written"};

llvm::GlobalVariable& thread_variable(llvm::Module& module, llvm::StringRef name, llvm::Type* type) {
  if (llvm::GlobalVariable* variable = module.getNamedGlobal(name)) return *variable;
  return *new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage,
                                   llvm::Constant::getNullValue(type), name, nullptr,
                                   llvm::GlobalValue::GeneralDynamicTLSModel);
}

}  // namespace

Context::Context(llvm::Module& module) : launch_(fixed_launch(module)) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  llvm::Type* word = llvm::Type::getInt32Ty(context);
  llvm::Type* triple = llvm::ArrayType::get(word, 3);
  llvm::Type* members[] = {pointer, pointer, pointer, pointer, pointer, llvm::Type::getInt64Ty(context),
                           triple,  triple,  triple,  word,    word,    word,
                           pointer, pointer, pointer};
  type_ = llvm::StructType::getTypeByName(context, kTypeName);
  if (!type_ || type_->elements() != llvm::ArrayRef(members)) type_ = llvm::StructType::create(members, kTypeName);
}

llvm::Value* Context::address(llvm::IRBuilderBase& builder, llvm::Value* context, Member member, unsigned index) const {
  if (!type_->getElementType(member)->isArrayTy()) return builder.CreateStructGEP(type_, context, member);
  return builder.CreateInBoundsGEP(type_, context,
                                   {builder.getInt32(0), builder.getInt32(member), builder.getInt32(index)});
}

llvm::Value* Context::load(llvm::IRBuilderBase& builder, llvm::Value* context, Member member, unsigned index,
                           uint64_t readable) const {
  if (launch_ && (member == kBlock || member == kGrid)) {
    const bundle::Dim3& size = member == kBlock ? launch_->block : launch_->grid;
    return builder.getInt32(index == 0 ? size.x : index == 1 ? size.y : size.z);
  }
  llvm::Type* type = type_->getElementType(member);
  std::string name = kMemberNames[member];
  if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) {
    type = array->getElementType();
    (name += '.') += "xyz"[index];
  }
  llvm::LoadInst* load = builder.CreateLoad(type, address(builder, context, member, index), name);
  llvm::MDNode* empty = llvm::MDNode::get(builder.getContext(), {});
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, empty);
  if (member == kBlock) {
    constexpr uint32_t kMostThreads = 1024;  // in a block, whatever its shape
    load->setMetadata(
        llvm::LLVMContext::MD_range,
        llvm::MDBuilder(builder.getContext()).createRange(llvm::APInt(32, 1), llvm::APInt(32, kMostThreads + 1)));
  }
  if (readable > 0) {
    llvm::Metadata* bytes = llvm::ConstantAsMetadata::get(builder.getInt64(readable));
    load->setMetadata(llvm::LLVMContext::MD_dereferenceable, llvm::MDNode::get(builder.getContext(), {bytes}));
    load->setMetadata(llvm::LLVMContext::MD_nonnull, empty);
  }
  return load;
}

void Context::mark(llvm::Argument& argument) const {
  const llvm::DataLayout& layout = argument.getParent()->getParent()->getDataLayout();
  llvm::AttrBuilder attributes(argument.getContext());
  attributes.addAttribute(llvm::Attribute::NoAlias);
  attributes.addAttribute(llvm::Attribute::NoUndef);
  attributes.addDereferenceableAttr(layout.getTypeAllocSize(type_));
  attributes.addAlignmentAttr(llvm::Align(8));
  argument.addAttrs(attributes);
  argument.setName("context");
}

llvm::Value* context_in(llvm::Function& function, llvm::IRBuilderBase& builder) {
  if (function.getName() == kItemFunction) return function.getArg(0);
  llvm::GlobalVariable& variable = thread_variable(*function.getParent(), kThreadContext, builder.getPtrTy());
  return builder.CreateLoad(builder.getPtrTy(), builder.CreateThreadLocalAddress(&variable));
}

llvm::GlobalVariable& thread_context(llvm::Module& module) {
  return thread_variable(module, kThreadContext, llvm::PointerType::get(module.getContext(), 0));
}

llvm::GlobalVariable& thread_item(llvm::Module& module) {
  return thread_variable(module, "mneme.thread.item",
                         llvm::ArrayType::get(llvm::Type::getInt32Ty(module.getContext()), 3));
}

}  // namespace mneme::codegen::host
