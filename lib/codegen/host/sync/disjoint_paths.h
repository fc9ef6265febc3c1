// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/BasicBlock.h>

#include <map>
#include <set>
#include <vector>

namespace mneme::codegen::host {

// The disjoint paths from a divergent branch, and the join blocks where they meet. Of three paths of a switch, two may
// join ahead of the reconvergence point:
//
//   switch (lane) {          turn ─┬─▶ one ──▶ both ──▶ turn or end      joins of `one`: both, end
//     case 55: break out;          ├────────▶ both                       joins of `both`: end
//     case 4: one();               └─────────────────▶ end
//   }
//   both();
class DisjointPaths {
 public:
  // `join`: the reconvergence point; null: there is none.
  DisjointPaths(llvm::BasicBlock& fork, llvm::BasicBlock* join);

  // For each block between the two: the join blocks where other lanes join those that come by it.
  std::map<llvm::BasicBlock*, llvm::SmallVector<llvm::BasicBlock*, 2>> join_blocks() const;

 private:
  std::set<llvm::BasicBlock*> incoming_labels(llvm::BasicBlock* block) const;
  llvm::BasicBlock* label_of(llvm::BasicBlock* block) const;
  bool set_label(llvm::BasicBlock* block, llvm::BasicBlock* label);

  llvm::BasicBlock& fork_;
  std::map<llvm::BasicBlock*, llvm::BasicBlock*> labels_;  // of a block: where the path begins that it is on
  std::vector<llvm::BasicBlock*> join_blocks_;
};

}  // namespace mneme::codegen::host
