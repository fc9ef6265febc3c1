// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/vectorize/hoist_divisions.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/IRBuilder.h>

namespace mneme::codegen::host {
namespace {

bool is_division(const llvm::Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case llvm::Instruction::UDiv:
    case llvm::Instruction::SDiv:
    case llvm::Instruction::URem:
    case llvm::Instruction::SRem:
      return instruction.getType()->isIntegerTy();
    default:
      return false;
  }
}

// The same result where the division is defined; where it is not, any, but no trap.
void make_safe(llvm::Instruction& division) {
  unsigned opcode = division.getOpcode();
  llvm::IRBuilder<> before(&division);
  llvm::Value* one = llvm::ConstantInt::get(division.getType(), 1);
  llvm::Value* divisor = before.CreateFreeze(division.getOperand(1));
  if (opcode == llvm::Instruction::UDiv || opcode == llvm::Instruction::URem) {
    division.setOperand(1, before.CreateBinaryIntrinsic(llvm::Intrinsic::umax, divisor, one));
    return;
  }
  // By -1 the least number overflows. The remainder is that of a division by 1; the quotient is negated.
  llvm::Value* traps = before.CreateICmpULE(before.CreateAdd(divisor, one), one);
  division.setOperand(1, before.CreateSelect(traps, one, divisor));
  if (opcode == llvm::Instruction::SRem) return;
  llvm::Value* minus = before.CreateICmpEQ(divisor, llvm::ConstantInt::getAllOnesValue(division.getType()));
  llvm::Value* negated = before.CreateNeg(division.getOperand(0));
  llvm::IRBuilder<> behind(division.getNextNode());
  llvm::Value* quotient = behind.CreateSelect(minus, negated, &division);
  division.replaceUsesWithIf(quotient, [&](llvm::Use& use) { return use.getUser() != quotient; });
}

bool hoist(llvm::Instruction& division, llvm::Loop& loop, llvm::Instruction* end) {
  bool moved = false;
  for (llvm::Value* operand : division.operands()) {
    if (!loop.makeLoopInvariant(operand, moved, end)) return false;
  }
  division.moveBefore(end);
  make_safe(division);
  return true;
}

bool hoist_all(llvm::Loop& loop) {
  llvm::BasicBlock* before = loop.getLoopPreheader();
  if (!before) return false;
  bool changed = false, again = true;
  while (again) {  // one division may wait for another
    again = false;
    for (llvm::BasicBlock* block : loop.blocks()) {
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(*block)) {
        if (is_division(instruction)) again |= hoist(instruction, loop, before->getTerminator());
      }
    }
    changed |= again;
  }
  return changed;
}

}  // namespace

llvm::PreservedAnalyses HoistDivisions::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  // Outer loops first, so that each moves once. Not only the innermost ones, which the vectoriser takes: they may still
  // be deleted before it comes.
  bool changed = false;
  for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
    changed |= hoist_all(*loop);
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace mneme::codegen::host
