// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/forms/parallel.h"

#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

// Memory that only this work-item sees. Each iteration of the loop over work-items uses the same stack.
bool may_be_private(const llvm::Value* pointer, bool private_escapes) {
  llvm::SmallVector<const llvm::Value*, 4> objects;
  llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);  // however far away
  for (const llvm::Value* object : objects) {
    if (llvm::isa<llvm::AllocaInst>(object)) return true;
    if (private_escapes && !llvm::isa<llvm::Argument, llvm::GlobalVariable>(object)) return true;
  }
  return false;
}

}  // namespace

ParallelLoop::ParallelLoop(llvm::LLVMContext& context) : group_(llvm::MDNode::getDistinct(context, {})) {
  llvm::Metadata* parallel[] = {llvm::MDString::get(context, "llvm.loop.parallel_accesses"), group_};
  llvm::Metadata* loop[] = {nullptr, llvm::MDNode::get(context, parallel)};
  metadata_ = llvm::MDNode::getDistinct(context, loop);
  metadata_->replaceOperandWith(0, metadata_);
}

ParallelLoop mark_parallel(llvm::Function& item) {
  bool private_escapes = false;
  for (llvm::Instruction& instruction : llvm::instructions(item)) {
    if (llvm::isa<llvm::AllocaInst>(instruction)) {
      private_escapes |= llvm::PointerMayBeCaptured(&instruction, true, true);
    }
  }
  ParallelLoop loop(item.getContext());
  for (llvm::Instruction& instruction : llvm::instructions(item)) {
    const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
    if (!pointer || instruction.isAtomic() || instruction.isVolatile() || is_item_ordered(instruction)) continue;
    if (!may_be_private(pointer, private_escapes)) loop.mark(instruction);
  }
  return loop;
}

}  // namespace mneme::codegen::host
