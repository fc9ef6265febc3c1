// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/semantics/brain_floats.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

namespace mneme::codegen::host {
namespace {

bool is_brain_float(const llvm::Value* value) { return value->getType()->getScalarType()->isBFloatTy(); }

bool uses_brain_floats(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (is_brain_float(&instruction) || llvm::any_of(instruction.operands(), is_brain_float)) return true;
    }
  }
  return false;
}

// A function of one number, to be filled in.
llvm::Function* declare(llvm::Module& module, const char* name, llvm::Type* from, llvm::IRBuilder<>& builder) {
  auto* type = llvm::FunctionType::get(builder.getBFloatTy(), {from}, false);
  auto* function = llvm::cast<llvm::Function>(module.getOrInsertFunction(name, type).getCallee());
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function->setDoesNotThrow();
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", function));
  return function;
}

llvm::Value* bits_of(llvm::IRBuilder<>& builder, llvm::Value* number) {
  return builder.CreateBitCast(number, builder.getInt32Ty());
}

llvm::Function* define_from_float(llvm::Module& module, llvm::IRBuilder<>& builder) {
  llvm::Function* function = declare(module, "__truncsfbf2", builder.getFloatTy(), builder);
  llvm::Value* number = function->getArg(0);
  llvm::Value* bits = bits_of(builder, number);
  llvm::Value* odd = builder.CreateAnd(builder.CreateLShr(bits, 16), 1);
  llvm::Value* rounded = builder.CreateAdd(bits, builder.CreateAdd(odd, builder.getInt32(0x7FFF)));
  llvm::Value* quiet = builder.CreateOr(bits, 0x400000);
  llvm::Value* all = builder.CreateSelect(builder.CreateFCmpUNO(number, number), quiet, rounded);
  llvm::Value* upper = builder.CreateTrunc(builder.CreateLShr(all, 16), builder.getInt16Ty());
  builder.CreateRet(builder.CreateBitCast(upper, builder.getBFloatTy()));
  return function;
}

// By a float between, which is rounded to odd, so that rounding twice is rounding once.
void define_from_double(llvm::Module& module, llvm::IRBuilder<>& builder, llvm::Function* from_float) {
  llvm::Function* function = declare(module, "__truncdfbf2", builder.getDoubleTy(), builder);
  llvm::Value* number = function->getArg(0);
  llvm::Value* nearest = builder.CreateFPTrunc(number, builder.getFloatTy());
  llvm::Value* back = builder.CreateFPExt(nearest, builder.getDoubleTy());
  auto size = [&](llvm::Value* value) { return builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value); };
  llvm::Value* is_larger = builder.CreateFCmpOGT(size(back), size(number));
  llvm::Value* bits = bits_of(builder, nearest);
  llvm::Value* toward_zero = builder.CreateSub(bits, builder.CreateZExt(is_larger, builder.getInt32Ty()));
  llvm::Value* to_odd = builder.CreateOr(toward_zero, 1);
  llvm::Value* chosen = builder.CreateSelect(builder.CreateFCmpUEQ(back, number), bits, to_odd);
  builder.CreateRet(builder.CreateCall(from_float, builder.CreateBitCast(chosen, builder.getFloatTy())));
}

}  // namespace

void define_brain_float_functions(llvm::Module& module) {
  if (!uses_brain_floats(module)) return;
  llvm::IRBuilder<> builder(module.getContext());
  define_from_double(module, builder, define_from_float(module, builder));
}

}  // namespace mneme::codegen::host
