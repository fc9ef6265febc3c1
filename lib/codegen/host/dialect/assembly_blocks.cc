// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/dialect/assembly_blocks.h"

#include <llvm/IR/Dominators.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

namespace mneme::codegen::host {

AssemblyBlocks::AssemblyBlocks(llvm::CallInst& call, llvm::IRBuilderBase& builder)
    : call_(call),
      builder_(builder),
      head_(call.getParent()),
      tail_(llvm::SplitBlock(head_, &call)),
      end_(head_->getTerminator()) {
  builder_.SetInsertPoint(end_);
}

llvm::AllocaInst* AssemblyBlocks::add_variable(llvm::Type* type, llvm::Value* initial) {
  llvm::BasicBlock& entry = call_.getFunction()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  llvm::AllocaInst* variable = at_entry.CreateAlloca(type);
  // The head may end by now.
  llvm::IRBuilder<>(head_->getTerminator())
      .CreateStore(initial ? initial : llvm::Constant::getNullValue(type), variable);
  variables_.push_back(variable);
  return variable;
}

bool AssemblyBlocks::add_label(llvm::StringRef name) { return labels_.try_emplace(name, new_block(name)).second; }

void AssemblyBlocks::pass(llvm::StringRef name) {
  llvm::BasicBlock* block = labels_.lookup(name);
  leave_to(block);
  go_on_in(block);
}

bool AssemblyBlocks::jump(llvm::StringRef name, llvm::Value* condition) {
  llvm::BasicBlock* target = labels_.lookup(name);
  if (!target) return false;
  llvm::BasicBlock* next = new_block("");
  leave_to(target, condition, next);
  go_on_in(next);
  return true;
}

llvm::BasicBlock* AssemblyBlocks::only_if(llvm::Value* condition) {
  llvm::BasicBlock* decides = end_->getParent();
  builder_.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(condition, end_, false));
  return decides;
}

void AssemblyBlocks::join() { builder_.SetInsertPoint(end_); }

void AssemblyBlocks::end() {
  leave_to(tail_);
  builder_.SetInsertPoint(&call_);
}

void AssemblyBlocks::promote() {
  llvm::DominatorTree tree(*call_.getFunction());
  llvm::PromoteMemToReg(variables_, tree);
}

llvm::BasicBlock* AssemblyBlocks::new_block(const llvm::Twine& name) {
  llvm::BasicBlock* block = llvm::BasicBlock::Create(builder_.getContext(), name, call_.getFunction());
  new llvm::UnreachableInst(builder_.getContext(), block);
  return block;
}

void AssemblyBlocks::leave_to(llvm::BasicBlock* target, llvm::Value* condition, llvm::BasicBlock* otherwise) {
  builder_.SetInsertPoint(end_);
  if (condition) {
    builder_.CreateCondBr(condition, target, otherwise);
  } else {
    builder_.CreateBr(target);
  }
  end_->eraseFromParent();
}

void AssemblyBlocks::go_on_in(llvm::BasicBlock* block) {
  end_ = block->getTerminator();
  builder_.SetInsertPoint(end_);
}

}  // namespace mneme::codegen::host
