// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/vectorize/trim_loops.h"

#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

#include "codegen/host/vectorize/iteration_range.h"

namespace mneme::codegen::host {
namespace {

using namespace llvm::PatternMatch;

// Of a loop whose header does nothing but to ask whether the latch, which does nothing either, comes next: turns what
// it asks into where the loop begins and ends, as far as that is what it asks; the rest stays.
class Trim {
 public:
  Trim(llvm::Loop& loop, const CountedLoop& counted, llvm::BranchInst& test)
      : loop_(loop), counted_(counted), test_(test), range_(loop, counted), inside_(&test) {}

  bool run() {
    bool body_when_true = test_.getSuccessor(1) == loop_.getLoopLatch();
    llvm::Value* whole = test_.getCondition();
    take_apart(whole, body_when_true);
    if (!found_) return false;

    llvm::IRBuilder<>& outside = range_.builder;
    llvm::Value* start = counted_.index->getIncomingValueForBlock(loop_.getLoopPreheader());
    llvm::Value* first = outside.CreateZExt(start, outside.getInt64Ty());
    if (range_.first) first = outside.CreateBinaryIntrinsic(llvm::Intrinsic::umax, first, range_.first);
    llvm::Value* last = range_.last();
    llvm::Value* none = none_ ? none_ : outside.getFalse();
    if (range_.end) {
      none = outside.CreateOr(none, outside.CreateIsNull(range_.end));
      last = outside.CreateBinaryIntrinsic(llvm::Intrinsic::umin, last,
                                           outside.CreateSub(range_.end, outside.getInt64(1)));
    }
    go_from_to(first, last, outside.CreateOr(none, outside.CreateICmpUGT(first, last)));
    llvm::Value* rest = rest_ ? rest_ : inside_.getTrue();
    test_.setCondition(body_when_true ? rest : inside_.CreateNot(rest));
    llvm::RecursivelyDeleteTriviallyDeadInstructions(whole);
    return true;
  }

 private:
  // `condition` is one of those that must all hold (or, with `wanted` false, must not) for the body to run.
  void take_apart(llvm::Value* condition, bool wanted) {
    llvm::Value *left = nullptr, *right = nullptr;
    if (match(condition, m_Not(m_Value(left)))) return take_apart(left, !wanted);
    if (wanted ? match(condition, m_LogicalAnd(m_Value(left), m_Value(right)))
               : match(condition, m_LogicalOr(m_Value(left), m_Value(right)))) {
      take_apart(left, wanted);
      take_apart(right, wanted);
    } else if (loop_.isLoopInvariant(condition)) {
      llvm::Value* holds = range_.builder.CreateFreeze(condition);
      if (wanted) holds = range_.builder.CreateNot(holds);
      none_ = none_ ? range_.builder.CreateOr(none_, holds) : holds;
      found_ = true;
    } else if (range_.narrow(condition, wanted)) {
      found_ = true;
    } else {
      llvm::Value* holds = wanted ? condition : inside_.CreateNot(condition);
      rest_ = rest_ ? inside_.CreateLogicalAnd(rest_, holds) : holds;
    }
  }

  void go_from_to(llvm::Value* first, llvm::Value* last, llvm::Value* none) {
    llvm::IRBuilder<>& outside = range_.builder;
    llvm::BasicBlock* before = loop_.getLoopPreheader();
    llvm::Type* type = counted_.index->getType();
    llvm::Value* end = outside.CreateAdd(last, outside.getInt64(1));
    counted_.index->setIncomingValueForBlock(before, outside.CreateTrunc(first, type));
    counted_.counted->setOperand(1, outside.CreateTrunc(end, type));
    for (llvm::PHINode& phi : loop_.getExitBlock()->phis()) {
      phi.addIncoming(phi.getIncomingValueForBlock(loop_.getLoopLatch()), before);  // not computed in the loop
    }
    outside.CreateCondBr(none, loop_.getExitBlock(), loop_.getHeader());
    before->getTerminator()->eraseFromParent();
  }

  llvm::Loop& loop_;
  CountedLoop counted_;
  llvm::BranchInst& test_;
  IterationRange range_;
  llvm::IRBuilder<> inside_;
  llvm::Value* none_ = nullptr;  // whether no iteration passes
  llvm::Value* rest_ = nullptr;  // what remains of the test
  bool found_ = false;
};

bool has_no_effect(const llvm::BasicBlock& block) {
  return llvm::none_of(block, [](const llvm::Instruction& i) { return i.mayHaveSideEffects(); });
}

bool trim(llvm::Loop& loop) {
  std::optional<CountedLoop> counted = match_counted_loop(loop);
  if (!counted) return false;
  llvm::BasicBlock &header = *loop.getHeader(), &latch = *loop.getLoopLatch();
  auto* test = llvm::dyn_cast<llvm::BranchInst>(header.getTerminator());
  if (!test || !test->isConditional() || !latch.phis().empty()) return false;
  if (test->getSuccessor(0) != &latch && test->getSuccessor(1) != &latch) return false;
  return has_no_effect(header) && has_no_effect(latch) && Trim(loop, *counted, *test).run();
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
