// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/semantics/guard_shifts.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Support/KnownBits.h>

#include <bit>
#include <vector>

namespace mneme::codegen::host {
namespace {

void guard(llvm::BinaryOperator& shift, Overshift overshift) {
  llvm::IRBuilder<> builder(&shift);
  llvm::Value* amount = shift.getOperand(1);
  llvm::Type* type = shift.getType();
  const unsigned bits = type->getScalarSizeInBits();
  auto number = [&](uint64_t n) { return llvm::ConstantInt::get(type, n); };
  if (overshift == Overshift::kWraps && std::has_single_bit(bits)) {
    shift.setOperand(1, builder.CreateAnd(amount, number(bits - 1)));
    return;
  }
  llvm::Value* within = builder.CreateICmpULT(amount, number(bits));
  const bool keeps_sign = shift.getOpcode() == llvm::Instruction::AShr;
  shift.setOperand(1, builder.CreateSelect(within, amount, number(keeps_sign ? bits - 1 : 0)));
  if (keeps_sign) return;
  builder.SetInsertPoint(shift.getNextNode());
  builder.SetCurrentDebugLocation(shift.getDebugLoc());
  auto* result = llvm::cast<llvm::Instruction>(builder.CreateSelect(within, &shift, number(0)));
  shift.replaceUsesWithIf(result, [&](llvm::Use& use) { return use.getUser() != result; });
}

}  // namespace

void guard_shifts(llvm::Module& module, Overshift overshift) {
  const llvm::DataLayout& layout = module.getDataLayout();
  std::vector<llvm::BinaryOperator*> shifts;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (!instruction.isShift()) continue;
      const llvm::KnownBits amount = llvm::computeKnownBits(instruction.getOperand(1), layout);
      if (amount.getMaxValue().uge(instruction.getType()->getScalarSizeInBits())) {
        shifts.push_back(llvm::cast<llvm::BinaryOperator>(&instruction));
      }
    }
  }
  for (llvm::BinaryOperator* shift : shifts) guard(*shift, overshift);
}

}  // namespace mneme::codegen::host
