// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/sync/disjoint_paths.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/CFG.h>

#include "codegen/host/analysis/reachable.h"

namespace mneme::codegen::host {

DisjointPaths::DisjointPaths(llvm::BasicBlock& fork, llvm::BasicBlock* join) : fork_(fork) {
  std::set<llvm::BasicBlock*> blocks;
  for (llvm::BasicBlock* next : llvm::successors(&fork)) {
    if (next != join) blocks.merge(reachable_blocks(next, join));
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (llvm::BasicBlock* block : blocks) changed |= set_label(block, label_of(block));
  }
  if (join) labels_[join] = join;
  for (auto& [block, label] : labels_) {
    bool is_path = llvm::is_contained(llvm::successors(&fork), block) && llvm::hasSingleElement(incoming_labels(block));
    if (label == block && (block == join || !is_path)) join_blocks_.push_back(block);
  }
}

std::map<llvm::BasicBlock*, llvm::SmallVector<llvm::BasicBlock*, 2>> DisjointPaths::join_blocks() const {
  std::map<llvm::BasicBlock*, llvm::SmallVector<llvm::BasicBlock*, 2>> found;
  for (llvm::BasicBlock* join : join_blocks_) {
    llvm::SmallSetVector<llvm::BasicBlock*, 16> ahead;
    ahead.insert(join);
    for (size_t i = 0; i < ahead.size(); ++i) {
      for (llvm::BasicBlock* before : llvm::predecessors(ahead[i])) {
        if (labels_.count(before)) ahead.insert(before);
      }
    }
    for (llvm::BasicBlock* block : ahead) {
      if (labels_.at(block) != join) found[block].push_back(join);
    }
  }
  return found;
}

// Of the paths by which lanes come to a block.
std::set<llvm::BasicBlock*> DisjointPaths::incoming_labels(llvm::BasicBlock* block) const {
  std::set<llvm::BasicBlock*> labels;
  for (llvm::BasicBlock* before : llvm::predecessors(block)) {
    if (before == &fork_) {
      labels.insert(block);
    } else if (auto known = labels_.find(before); known != labels_.end()) {
      labels.insert(known->second);
    }
  }
  return labels;
}

// That of the one path; where several meet, of one that begins there. Null: not known yet.
llvm::BasicBlock* DisjointPaths::label_of(llvm::BasicBlock* block) const {
  std::set<llvm::BasicBlock*> labels = incoming_labels(block);
  if (labels.empty()) return nullptr;
  return labels.size() == 1 ? *labels.begin() : block;
}

// Whether that is new.
bool DisjointPaths::set_label(llvm::BasicBlock* block, llvm::BasicBlock* label) {
  if (!label || labels_[block] == label || labels_[block] == block) return false;
  labels_[block] = label;
  return true;
}

}  // namespace mneme::codegen::host
