// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/sync/waits.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>

#include "codegen/host/analysis/promoted_copy.h"
#include "codegen/host/neutral/neutral.h"
#include "codegen/host/sync/wait_loops.h"

namespace mneme::codegen::host {
namespace {

bool may_wait(llvm::Function& function) {
  return llvm::any_of(llvm::instructions(function), [](const llvm::Instruction& instruction) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    return instruction.isAtomic() || (load && load->isVolatile());
  });
}

// Letting others go on costs more than to look again: what a work-item waits for may have come already, and a loop may
// get on in between.
constexpr uint32_t kLooks = 16;

void yield_at_latch(llvm::BasicBlock& header, const llvm::DominatorTree& dominators, bool each_time) {
  llvm::SmallVector<llvm::BasicBlock*, 4> latches;
  for (llvm::BasicBlock* block : llvm::predecessors(&header)) {
    if (dominators.dominates(&header, block)) latches.push_back(block);
  }
  llvm::BasicBlock* latch = llvm::SplitBlockPredecessors(&header, latches, ".wait");
  llvm::IRBuilder<> at_latch(latch->getTerminator());
  if (each_time) {
    call_yield(at_latch);
    return;
  }
  llvm::BasicBlock& entry = header.getParent()->getEntryBlock();
  llvm::IRBuilder<> builder(&entry, entry.begin());
  llvm::Value* looks = builder.CreateAlloca(builder.getInt32Ty());
  builder.SetInsertPoint(&*entry.getFirstNonPHIOrDbgOrAlloca());
  builder.CreateStore(builder.getInt32(0), looks);
  llvm::Value* next = at_latch.CreateAdd(at_latch.CreateLoad(at_latch.getInt32Ty(), looks), at_latch.getInt32(1));
  at_latch.CreateStore(next, looks);
  llvm::Value* often = at_latch.CreateIsNull(at_latch.CreateAnd(next, kLooks - 1));
  at_latch.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(often, latch->getTerminator(), false));
  call_yield(at_latch);
}

}  // namespace

WaitsFor yield_in_waits(llvm::Module& module) {
  WaitsFor all = WaitsFor::kNobody;
  bool each_time = has_wave_collectives(module);  // then they do each time round a loop
  std::vector<llvm::Function*> functions;
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && (each_time || may_wait(function))) functions.push_back(&function);
  }
  for (llvm::Function* function : functions) {
    std::vector<llvm::BasicBlock*> headers;
    {
      PromotedCopy copy(*function);
      llvm::DominatorTree dominators(copy.function());
      llvm::LoopInfo loops(dominators);
      for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
        WaitsFor whom = waits_for(*loop, dominators);
        if (whom != WaitsFor::kNobody) headers.push_back(copy.original(*loop->getHeader()));
        all = std::max(all, whom);
      }
    }
    for (llvm::BasicBlock* header : headers) yield_at_latch(*header, llvm::DominatorTree(*function), each_time);
  }
  return all;
}

}  // namespace mneme::codegen::host
