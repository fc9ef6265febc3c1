// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/trim_loops.h"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/PatternMatch.h>

#include <optional>

namespace mneme::codegen::host {
namespace {

using namespace llvm::PatternMatch;

// for (i = 0; ; ) { if (condition(i)) body; if (++i == count) break; }
struct BoundedLoop {
  llvm::PHINode* index;
  llvm::BranchInst* test;   // in the header; one way is the body, the other the latch
  llvm::ICmpInst* counted;  // ++i == count
  llvm::Value* count;
};

bool has_no_effect(const llvm::BasicBlock& block) {
  return llvm::none_of(block, [](const llvm::Instruction& i) { return i.mayHaveSideEffects(); });
}

bool is_used_outside(const llvm::Loop& loop) {
  for (llvm::BasicBlock* block : loop.blocks()) {
    for (llvm::Instruction& instruction : *block) {
      for (llvm::User* user : instruction.users()) {
        if (!loop.contains(llvm::cast<llvm::Instruction>(user))) return true;
      }
    }
  }
  return false;
}

std::optional<BoundedLoop> match_loop(llvm::Loop& loop) {
  llvm::BasicBlock* header = loop.getHeader();
  llvm::BasicBlock* latch = loop.getLoopLatch();
  if (!latch || latch == header || !loop.getLoopPreheader() || loop.getExitingBlock() != latch) return std::nullopt;
  if (!loop.getExitBlock() || !has_no_effect(*header) || !has_no_effect(*latch)) return std::nullopt;
  llvm::PHINode* index = loop.getCanonicalInductionVariable();
  if (!index || !llvm::hasSingleElement(header->phis()) || !latch->phis().empty() || is_used_outside(loop))
    return std::nullopt;

  auto* test = llvm::dyn_cast<llvm::BranchInst>(header->getTerminator());
  if (!test || !test->isConditional()) return std::nullopt;
  if (test->getSuccessor(0) != latch && test->getSuccessor(1) != latch) return std::nullopt;
  auto* end = llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator());
  if (!end) return std::nullopt;
  auto* counted = llvm::dyn_cast<llvm::ICmpInst>(end->getCondition());
  if (!counted || !counted->hasOneUse()) return std::nullopt;
  // Equal is when it ends, not when it goes on.
  unsigned when_equal = counted->getPredicate() == llvm::ICmpInst::ICMP_EQ ? 0 : 1;
  if (!counted->isEquality() || end->getSuccessor(when_equal) == header) return std::nullopt;
  if (counted->getOperand(0) != index->getIncomingValueForBlock(latch)) return std::nullopt;
  if (!loop.isLoopInvariant(counted->getOperand(1))) return std::nullopt;
  return BoundedLoop{index, test, counted, counted->getOperand(1)};
}

// Whether the index, which counts up from 0, may pass the largest signed number. No loop runs 2^63 times.
bool may_turn_negative(const BoundedLoop& bounded) {
  if (bounded.index->getType()->getIntegerBitWidth() >= 64) return false;
  auto* next = llvm::dyn_cast<llvm::OverflowingBinaryOperator>(bounded.counted->getOperand(0));
  return !next || !next->hasNoSignedWrap();
}

// How many iterations, from 0 on, pass the test; null if it is no such test.
llvm::Value* passing_iterations(const BoundedLoop& bounded, llvm::Loop& loop, llvm::IRBuilderBase& builder) {
  auto* compare = llvm::dyn_cast<llvm::ICmpInst>(bounded.test->getCondition());
  if (!compare) return nullptr;
  bool passes_when_true = bounded.test->getSuccessor(1) == loop.getLoopLatch();
  llvm::ICmpInst::Predicate predicate = passes_when_true ? compare->getPredicate() : compare->getInversePredicate();
  llvm::Value* left = compare->getOperand(0);
  llvm::Value* bound = compare->getOperand(1);
  if (loop.isLoopInvariant(left)) {
    std::swap(left, bound);
    predicate = llvm::ICmpInst::getSwappedPredicate(predicate);
  }
  bool is_signed = predicate == llvm::ICmpInst::ICMP_SLT;
  if ((!is_signed && predicate != llvm::ICmpInst::ICMP_ULT) || !loop.isLoopInvariant(bound)) return nullptr;
  if (is_signed && may_turn_negative(bounded)) return nullptr;

  llvm::Value* base = nullptr;
  if (left == bounded.index) {
    base = llvm::ConstantInt::get(left->getType(), 0);
  } else {
    bool sum = is_signed ? match(left, m_NSWAdd(m_Value(base), m_Specific(bounded.index))) ||
                               match(left, m_NSWAdd(m_Specific(bounded.index), m_Value(base)))
                         : match(left, m_NUWAdd(m_Value(base), m_Specific(bounded.index))) ||
                               match(left, m_NUWAdd(m_Specific(bounded.index), m_Value(base)));
    if (!sum || !loop.isLoopInvariant(base)) return nullptr;
  }
  llvm::Value* some = is_signed ? builder.CreateICmpSLT(base, bound) : builder.CreateICmpULT(base, bound);
  return builder.CreateSelect(some, builder.CreateSub(bound, base), llvm::ConstantInt::get(base->getType(), 0));
}

bool trim(llvm::Loop& loop) {
  std::optional<BoundedLoop> bounded = match_loop(loop);
  if (!bounded) return false;
  llvm::BasicBlock* before = loop.getLoopPreheader();
  llvm::IRBuilder<> builder(before->getTerminator());
  llvm::Value* passing = passing_iterations(*bounded, loop, builder);
  if (!passing) return false;

  // Of the last iterations, the earlier: a count of zero stands for as many as the index has values.
  llvm::Value* one = llvm::ConstantInt::get(passing->getType(), 1);
  llvm::Value* last = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, builder.CreateSub(passing, one),
                                                    builder.CreateSub(bounded->count, one));
  bounded->counted->setOperand(1, builder.CreateAdd(last, one));
  bool passes_when_true = bounded->test->getSuccessor(1) == loop.getLoopLatch();
  bounded->test->setCondition(builder.getInt1(passes_when_true));
  // None may pass.
  llvm::Value* none = builder.CreateIsNull(passing);
  for (llvm::PHINode& phi : loop.getExitBlock()->phis()) {
    phi.addIncoming(phi.getIncomingValueForBlock(loop.getLoopLatch()), before);  // not computed in the loop
  }
  builder.CreateCondBr(none, loop.getExitBlock(), loop.getHeader());
  before->getTerminator()->eraseFromParent();
  return true;
}

}  // namespace

llvm::PreservedAnalyses TrimLoops::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  bool changed = false;
  for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
    if (loop->isInnermost()) changed |= trim(*loop);
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace mneme::codegen::host
