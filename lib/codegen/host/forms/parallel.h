// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Function.h>
#include <llvm/IR/Instruction.h>
#include <llvm/IR/Metadata.h>

namespace mneme::codegen::host {

// Metadata by which LLVM knows that a loop's iterations do not depend on each other through the accesses marked so.
class ParallelLoop {
 public:
  explicit ParallelLoop(llvm::LLVMContext& context);
  void mark(llvm::Instruction& access) const { access.setMetadata(llvm::LLVMContext::MD_access_group, group_); }
  llvm::MDNode* metadata() const { return metadata_; }

 private:
  llvm::MDNode* group_;
  llvm::MDNode* metadata_;
};

// Tells LLVM that a loop over work-items is parallel.
//
//   store i32 %v, ptr %p   ──▶   store i32 %v, ptr %p, !llvm.access.group !1     and !1 in the loop's metadata
//
// Between two collectives work-items are not ordered among each other, so accesses of different ones never
// depend on each other: a loop over work-items is parallel, and LLVM need not prove it. Marks the accesses in `item`,
// but for those that may be to its own stack (which all iterations share) and those that are ordered (neutral.h).
ParallelLoop mark_parallel(llvm::Function& item);

}  // namespace mneme::codegen::host
