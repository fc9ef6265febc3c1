// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/vectorize/split_loops.h"

#include <llvm/Transforms/Utils/Cloning.h>

#include "codegen/host/vectorize/iteration_range.h"

namespace mneme::codegen::host {
namespace {

// The only question that the loop asks, but for whether it ends.
llvm::BranchInst* only_test(const llvm::Loop& loop) {
  llvm::BranchInst* found = nullptr;
  for (llvm::BasicBlock* block : loop.blocks()) {
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
    if (!branch) return nullptr;
    if (block == loop.getLoopLatch() || branch->isUnconditional()) continue;
    if (found) return nullptr;
    found = branch;
  }
  return found;
}

// Whether memory is accessed on one way only.
bool decides_on_memory(const llvm::BranchInst& test) {
  return llvm::any_of(llvm::successors(&test), [&](const llvm::BasicBlock* next) {
    return next->getSinglePredecessor() &&
           llvm::any_of(*next, [](const llvm::Instruction& i) { return i.mayReadOrWriteMemory(); });
  });
}

void give_own_name(llvm::BasicBlock& latch) {
  llvm::MDNode* name = latch.getTerminator()->getMetadata(llvm::LLVMContext::MD_loop);
  if (!name) return;
  llvm::SmallVector<llvm::Metadata*, 4> parts(name->op_begin(), name->op_end());
  llvm::MDNode* own = llvm::MDNode::getDistinct(latch.getContext(), parts);
  own->replaceOperandWith(0, own);
  latch.getTerminator()->setMetadata(llvm::LLVMContext::MD_loop, own);
}

// The answer is `before` up to (not including) `border`, and the opposite from there on.
void split(llvm::Loop& loop, const CountedLoop& counted, llvm::BranchInst& test, IterationRange& range,
           llvm::Value* border, bool before) {
  llvm::IRBuilder<>& outside = range.builder;
  llvm::BasicBlock *start = loop.getLoopPreheader(), *exit = loop.getExitBlock(), *latch = loop.getLoopLatch();
  llvm::Type* type = counted.index->getType();
  llvm::Value* first = counted.index->getIncomingValueForBlock(start);
  llvm::Value* wide_first = outside.CreateZExt(first, outside.getInt64Ty());
  llvm::Value* last = range.last();
  llvm::Value* some_before = outside.CreateICmpUGT(border, wide_first);
  llvm::Value* some_behind = outside.CreateICmpULE(border, last);
  llvm::Value* first_behind = outside.CreateTrunc(outside.CreateSelect(some_before, border, wide_first), type);
  llvm::Value* end_before = outside.CreateSelect(some_behind, outside.CreateTrunc(border, type), counted.count);

  llvm::Function& function = *start->getParent();
  llvm::ValueToValueMapTy map;
  llvm::SmallVector<llvm::BasicBlock*, 4> copies;
  for (llvm::BasicBlock* block : loop.blocks()) {
    copies.push_back(llvm::CloneBasicBlock(block, map, ".behind", &function));
    map[block] = copies.back();
  }
  auto* middle = llvm::BasicBlock::Create(function.getContext(), "middle", &function, copies.front());
  map[start] = middle;
  llvm::remapInstructionsInBlocks(copies, map);
  auto copy = [&](auto* value) { return llvm::cast<std::remove_pointer_t<decltype(value)>>(&*map[value]); };
  copy(counted.index)->setIncomingValueForBlock(middle, first_behind);
  copy(&test)->setCondition(outside.getInt1(!before));
  give_own_name(*copy(latch));

  counted.counted->setOperand(1, end_before);
  test.setCondition(outside.getInt1(before));
  for (llvm::PHINode& phi : exit->phis()) {
    llvm::Value* value = phi.getIncomingValueForBlock(latch);  // not computed in the loop
    phi.replaceIncomingBlockWith(latch, middle);
    phi.addIncoming(value, copy(latch));
  }
  latch->getTerminator()->replaceSuccessorWith(exit, middle);
  llvm::IRBuilder<>(middle).CreateCondBr(some_behind, copy(loop.getHeader()), exit);
  outside.CreateCondBr(some_before, loop.getHeader(), middle);
  start->getTerminator()->eraseFromParent();
}

bool split(llvm::Loop& loop) {
  std::optional<CountedLoop> counted = match_counted_loop(loop);
  llvm::BranchInst* test = only_test(loop);
  if (!counted || !test || !decides_on_memory(*test)) return false;
  IterationRange range(loop, *counted);
  if (!range.narrow(test->getCondition(), true)) return false;
  if (range.first && range.end) return false;
  split(loop, *counted, *test, range, range.end ? range.end : range.first, range.end != nullptr);
  return true;
}

}  // namespace

llvm::PreservedAnalyses SplitLoops::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  bool changed = false;
  for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
    if (loop->isInnermost()) changed |= split(*loop);
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace mneme::codegen::host
