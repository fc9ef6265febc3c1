// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/CFG.h>

#include <set>
#include <vector>

namespace mneme::codegen::host {

// Blocks that can be reached from `start`, itself included, without meeting `stop` (may be null); those for which
// `is_end` holds are reached but not left.
inline std::set<llvm::BasicBlock*> reachable_blocks(
    llvm::BasicBlock* start, llvm::BasicBlock* stop,
    llvm::function_ref<bool(llvm::BasicBlock*)> is_end = [](llvm::BasicBlock*) { return false; }) {
  std::set<llvm::BasicBlock*> seen;
  std::vector<llvm::BasicBlock*> work;
  auto visit = [&](llvm::BasicBlock* block) {
    if (block != stop && seen.insert(block).second) work.push_back(block);
  };
  visit(start);
  while (!work.empty()) {
    llvm::BasicBlock* block = work.back();
    work.pop_back();
    if (is_end(block)) continue;
    for (llvm::BasicBlock* next : llvm::successors(block)) visit(next);
  }
  return seen;
}

// Of a block that ends in a branch with two ways, the blocks of a way that only ends: it leads back neither to the
// block nor to one at which work-items `stop`. Those who take the other way stay together. Of two such ways, the
// shorter
// (`if (i < n) { … }` around all there is); empty: neither is.
inline std::set<llvm::BasicBlock*> ending_side(llvm::BasicBlock& fork,
                                               llvm::function_ref<bool(llvm::BasicBlock*)> stop) {
  std::set<llvm::BasicBlock*> side;
  if (fork.getTerminator()->getNumSuccessors() != 2) return side;
  for (llvm::BasicBlock* next : llvm::successors(&fork)) {
    std::set<llvm::BasicBlock*> blocks = reachable_blocks(next, nullptr);
    bool ends = !blocks.count(&fork) && llvm::none_of(blocks, stop);
    if (ends && (side.empty() || blocks.size() < side.size())) side = std::move(blocks);
  }
  return side;
}

}  // namespace mneme::codegen::host
