// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/sync/sides.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/CFG.h>

#include "codegen/host/analysis/reachable.h"

namespace mneme::codegen::host {

Sides::Sides(llvm::BasicBlock& fork, llvm::BasicBlock* join) : fork_(fork) {
  std::set<llvm::BasicBlock*> blocks;
  for (llvm::BasicBlock* next : llvm::successors(&fork)) {
    if (next != join) blocks.merge(reachable_blocks(next, join));
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (llvm::BasicBlock* block : blocks) changed |= note(block, way_to(block));
  }
  if (join) ways_[join] = join;
  for (auto& [block, way] : ways_) {
    bool is_side = llvm::is_contained(llvm::successors(&fork), block) && llvm::hasSingleElement(ways_to(block));
    if (way == block && (block == join || !is_side)) joins_.push_back(block);
  }
}

std::map<llvm::BasicBlock*, llvm::SmallVector<llvm::BasicBlock*, 2>> Sides::joins() const {
  std::map<llvm::BasicBlock*, llvm::SmallVector<llvm::BasicBlock*, 2>> found;
  for (llvm::BasicBlock* join : joins_) {
    llvm::SmallSetVector<llvm::BasicBlock*, 16> ahead;
    ahead.insert(join);
    for (size_t i = 0; i < ahead.size(); ++i) {
      for (llvm::BasicBlock* before : llvm::predecessors(ahead[i])) {
        if (ways_.count(before)) ahead.insert(before);
      }
    }
    for (llvm::BasicBlock* block : ahead) {
      if (ways_.at(block) != join) found[block].push_back(join);
    }
  }
  return found;
}

// The ways by which lanes come to a block.
std::set<llvm::BasicBlock*> Sides::ways_to(llvm::BasicBlock* block) const {
  std::set<llvm::BasicBlock*> ways;
  for (llvm::BasicBlock* before : llvm::predecessors(block)) {
    if (before == &fork_) {
      ways.insert(block);
    } else if (auto known = ways_.find(before); known != ways_.end()) {
      ways.insert(known->second);
    }
  }
  return ways;
}

// The one; where several meet, one that begins there. Null: not known yet.
llvm::BasicBlock* Sides::way_to(llvm::BasicBlock* block) const {
  std::set<llvm::BasicBlock*> ways = ways_to(block);
  if (ways.empty()) return nullptr;
  return ways.size() == 1 ? *ways.begin() : block;
}

// Whether that is new.
bool Sides::note(llvm::BasicBlock* block, llvm::BasicBlock* way) {
  if (!way || ways_[block] == way || ways_[block] == block) return false;
  ways_[block] = way;
  return true;
}

}  // namespace mneme::codegen::host
