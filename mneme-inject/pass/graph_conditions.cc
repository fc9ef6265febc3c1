// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   call void @cudaGraphSetConditional(i64 %handle, i32 %value)
//     ─▶
//   call void @__mneme_set_condition(i64 %handle, i32 %value)
//
// which stores the value to the slot of a handle of ours, and calls the vendor's function for any other handle and for
// the one that the slot names.
#include "pass/graph_conditions.h"

#include <llvm/IR/IRBuilder.h>

#include "objects/graph_condition.h"

namespace mneme::inject {
namespace {

// Says that the module's kernels take either handle.
llvm::GlobalVariable* add_mark(llvm::Module& module) {
  constexpr unsigned kGlobal = 1;  // address space
  llvm::Type* byte = llvm::Type::getInt8Ty(module.getContext());
  return new llvm::GlobalVariable(module, byte, /*isConstant=*/false, llvm::GlobalValue::WeakAnyLinkage,
                                  llvm::ConstantInt::get(byte, 1), objects::kTakesOwnConditions, nullptr,
                                  llvm::GlobalValue::NotThreadLocal, kGlobal);
}

llvm::Function* define_setter(llvm::Module& module, llvm::Function& vendors) {
  using llvm::BasicBlock;
  llvm::LLVMContext& context = module.getContext();
  llvm::Function* setter = llvm::Function::Create(vendors.getFunctionType(), llvm::GlobalValue::LinkOnceODRLinkage,
                                                  objects::kSetEither, module);
  setter->setVisibility(llvm::GlobalValue::HiddenVisibility);
  setter->addFnAttr(llvm::Attribute::NoUnwind);
  llvm::Value *handle = setter->getArg(0), *value = setter->getArg(1);
  BasicBlock* entry = BasicBlock::Create(context, "", setter);
  BasicBlock* ours = BasicBlock::Create(context, "ours", setter);
  BasicBlock* forward = BasicBlock::Create(context, "forward", setter);
  BasicBlock* end = BasicBlock::Create(context, "end", setter);

  llvm::IRBuilder<> builder(entry);
  llvm::Value* tag = builder.CreateLShr(handle, objects::kConditionShift);
  builder.CreateCondBr(builder.CreateICmpEQ(tag, builder.getInt64(objects::kConditionTag)), ours, forward);

  builder.SetInsertPoint(ours);
  llvm::Value* address = builder.CreateAnd(handle, objects::slot_of(~uint64_t{0}));
  llvm::Value* slot = builder.CreateIntToPtr(address, builder.getPtrTy());
  builder.CreateStore(value, slot);
  builder.CreateLoad(builder.getInt8Ty(), add_mark(module), /*isVolatile=*/true);  // so that the kernel's code has it
  llvm::Value* beside =
      builder.CreateConstGEP1_64(builder.getInt8Ty(), slot, offsetof(objects::ConditionSlot, vendors));
  llvm::Value* named = builder.CreateLoad(builder.getInt64Ty(), beside);
  builder.CreateCondBr(builder.CreateIsNull(named), end, forward);

  builder.SetInsertPoint(forward);
  llvm::PHINode* theirs = builder.CreatePHI(builder.getInt64Ty(), 2);
  theirs->addIncoming(handle, entry);
  theirs->addIncoming(named, ours);
  builder.CreateCall(&vendors, {theirs, value})->setCallingConv(vendors.getCallingConv());
  builder.CreateBr(end);

  builder.SetInsertPoint(end);
  builder.CreateRetVoid();
  return setter;
}

}  // namespace

void take_own_conditions(llvm::Module& module) {
  llvm::Function* vendors = module.getFunction(objects::kSetCondition);
  if (!vendors || vendors->use_empty() || module.getFunction(objects::kSetEither)) return;
  llvm::LLVMContext& context = module.getContext();
  llvm::Type *handle = llvm::Type::getInt64Ty(context), *value = llvm::Type::getInt32Ty(context);
  if (vendors->getFunctionType() != llvm::FunctionType::get(llvm::Type::getVoidTy(context), {handle, value}, false))
    return;
  llvm::Function* setter = define_setter(module, *vendors);
  vendors->replaceUsesWithIf(setter, [&](const llvm::Use& use) {
    auto* call = llvm::dyn_cast<llvm::Instruction>(use.getUser());
    return !call || call->getFunction() != setter;
  });
}

}  // namespace mneme::inject
