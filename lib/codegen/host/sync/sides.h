// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/BasicBlock.h>

#include <map>
#include <set>
#include <vector>

namespace mneme::codegen::host {

// The ways that lanes take at a branch, and where they are together again. Of three ways of a switch, two may be so
// ahead of the third:
//
//   switch (lane) {          turn ─┬─▶ one ──▶ both ──▶ turn or end      joins of `one`: both, end
//     case 55: break out;          ├────────▶ both                       joins of `both`: end
//     case 4: one();               └─────────────────▶ end
//   }
//   both();
class Sides {
 public:
  // `join`: where all are together again; null: nowhere.
  Sides(llvm::BasicBlock& fork, llvm::BasicBlock* join);

  // For each block between the two: where others join the lanes that come by it.
  std::map<llvm::BasicBlock*, llvm::SmallVector<llvm::BasicBlock*, 2>> joins() const;

 private:
  std::set<llvm::BasicBlock*> ways_to(llvm::BasicBlock* block) const;
  llvm::BasicBlock* way_to(llvm::BasicBlock* block) const;
  bool note(llvm::BasicBlock* block, llvm::BasicBlock* way);

  llvm::BasicBlock& fork_;
  std::map<llvm::BasicBlock*, llvm::BasicBlock*> ways_;  // each is named by the block where it begins
  std::vector<llvm::BasicBlock*> joins_;
};

}  // namespace mneme::codegen::host
