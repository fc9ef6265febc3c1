// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/semantics/guard_divisions.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <vector>

#include "codegen/host/abi.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

bool is_signed(const llvm::BinaryOperator& division) {
  return division.getOpcode() == llvm::Instruction::SDiv || division.getOpcode() == llvm::Instruction::SRem;
}

bool is_division(const llvm::BinaryOperator& operation) {
  return is_signed(operation) || operation.getOpcode() == llvm::Instruction::UDiv ||
         operation.getOpcode() == llvm::Instruction::URem;
}

// A constant that can be divided by whatever the dividend.
bool is_harmless(const llvm::BinaryOperator& division) {
  auto* divisor = llvm::dyn_cast<llvm::Constant>(division.getOperand(1));
  if (!divisor) return false;
  auto harmless = [&](const llvm::Constant* element) {
    auto* number = llvm::dyn_cast_or_null<llvm::ConstantInt>(element);
    return number && !number->isZero() && !(is_signed(division) && number->isMinusOne());
  };
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(divisor->getType());
  if (!vector) return harmless(divisor);
  for (unsigned i = 0; i < vector->getNumElements(); ++i) {
    if (!harmless(divisor->getAggregateElement(i))) return false;
  }
  return true;
}

void stop_at_zero(llvm::BinaryOperator& division, llvm::Value* zero) {
  llvm::IRBuilder<> builder(&division);
  if (zero->getType()->isVectorTy()) zero = builder.CreateOrReduce(zero);
  builder.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(zero, division.getIterator(), false));
  builder.SetCurrentDebugLocation(division.getDebugLoc());
  call_stop(builder, kOther, builder.CreateGlobalString("divides by zero"));
}

void guard(llvm::BinaryOperator& division, bool report) {
  llvm::IRBuilder<> builder(&division);
  llvm::Value *dividend = division.getOperand(0), *divisor = division.getOperand(1);
  llvm::Type* type = division.getType();
  llvm::Constant* one = llvm::ConstantInt::get(type, 1);
  llvm::Constant* ones = llvm::Constant::getAllOnesValue(type);
  // Frozen: it decides what happens, and is used more than once.
  if (!llvm::isa<llvm::Constant>(divisor)) divisor = builder.CreateFreeze(divisor);
  llvm::Value* zero = builder.CreateIsNull(divisor);
  llvm::Value* minus_one = is_signed(division) ? builder.CreateICmpEQ(divisor, ones) : nullptr;
  llvm::Value* safe = builder.CreateSelect(minus_one ? builder.CreateOr(zero, minus_one) : zero, one, divisor);
  division.setOperand(1, safe);
  if (report) {
    stop_at_zero(division, zero);
    builder.SetInsertPoint(&division);
  }

  builder.SetInsertPoint(division.getNextNode());
  builder.SetCurrentDebugLocation(division.getDebugLoc());
  bool remainder = division.getOpcode() == llvm::Instruction::SRem || division.getOpcode() == llvm::Instruction::URem;
  llvm::Value* result = &division;
  llvm::SmallPtrSet<llvm::User*, 2> own;
  if (minus_one && !remainder) {
    result = builder.CreateSelect(minus_one, builder.CreateNeg(dividend), result);
    own.insert(llvm::dyn_cast<llvm::User>(result));
  }
  result = builder.CreateSelect(zero, remainder ? dividend : ones, result);
  own.insert(llvm::dyn_cast<llvm::User>(result));
  division.replaceUsesWithIf(result, [&](llvm::Use& use) { return !own.contains(use.getUser()); });
}

}  // namespace

void guard_divisions(llvm::Module& module, bool report) {
  std::vector<llvm::BinaryOperator*> divisions;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
      if (operation && is_division(*operation) && !is_harmless(*operation)) divisions.push_back(operation);
    }
  }
  for (llvm::BinaryOperator* division : divisions) guard(*division, report);
}

}  // namespace mneme::codegen::host
