// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>

#include <vector>

namespace mneme::codegen::host {

// A copy of a function, in the same module, whose locals are in registers, what is constant then folded, and the flow
// of control the same. It is what is analysed where the function itself is to keep its locals in memory, as a debugger
// wants them, and leads back to that.
class PromotedCopy {
 public:
  explicit PromotedCopy(llvm::Function& function);
  ~PromotedCopy() { copy_->eraseFromParent(); }
  PromotedCopy(const PromotedCopy&) = delete;
  PromotedCopy& operator=(const PromotedCopy&) = delete;

  llvm::Function& function() { return *copy_; }
  llvm::BasicBlock* original(const llvm::BasicBlock& block) const { return blocks_.at(&block); }
  // Of an access, or of the end of a block. Promotion replaces accesses by others: of one of which it is not known
  // where it comes from, what follows the access before it, or its block's first instruction.
  llvm::Instruction* original(const llvm::Instruction& instruction) const;

 private:
  void mark(llvm::Instruction& there, llvm::Instruction& instruction);
  llvm::Instruction* marked(const llvm::Instruction& there) const;

  llvm::Function* copy_;
  llvm::DenseMap<const llvm::BasicBlock*, llvm::BasicBlock*> blocks_;
  std::vector<llvm::Instruction*> accesses_;  // of the original, by mark
};

}  // namespace mneme::codegen::host
