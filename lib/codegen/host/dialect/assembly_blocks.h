// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Inline assembly that jumps, of whatever vendor: the instructions behind a label are a basic block, and registers are
// variables on the stack, promoted once all instructions are raised.
//
//   head:  …                                    head:  …
//          %r = call asm "add …; L: …; bra L"    ─▶     …add…; br L
//          …                                    L:     …; br L
//                                               tail:  …
#pragma once
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

namespace mneme::codegen::host {

class AssemblyBlocks {
 public:
  // `builder` appends to these blocks until end().
  AssemblyBlocks(llvm::CallInst& call, llvm::IRBuilderBase& builder);
  AssemblyBlocks(const AssemblyBlocks&) = delete;
  AssemblyBlocks& operator=(const AssemblyBlocks&) = delete;

  // A register with what it holds in front of the assembly; null: zero.
  llvm::AllocaInst* add_variable(llvm::Type* type, llvm::Value* initial = nullptr);
  // False: there is one of this name. Labels are added before anything is built.
  bool add_label(llvm::StringRef name);
  // The label stands here.
  void pass(llvm::StringRef name);
  // Where the condition holds (null: always). False: there is no such label.
  bool jump(llvm::StringRef name, llvm::Value* condition = nullptr);
  // Between these two, code runs where the condition holds. only_if gives the block that decides.
  llvm::BasicBlock* only_if(llvm::Value* condition);
  void join();

  // The builder stands in front of the call, behind all blocks.
  void end();
  // When the call's results are built, too.
  void promote();

 private:
  llvm::BasicBlock* new_block(const llvm::Twine& name);
  void leave_to(llvm::BasicBlock* target, llvm::Value* condition = nullptr, llvm::BasicBlock* otherwise = nullptr);
  void go_on_in(llvm::BasicBlock* block);

  llvm::CallInst& call_;
  llvm::IRBuilderBase& builder_;
  llvm::BasicBlock *head_, *tail_;
  llvm::Instruction* end_;  // of the block that is being built, until it is known where it leads
  llvm::StringMap<llvm::BasicBlock*> labels_;
  llvm::SmallVector<llvm::AllocaInst*, 8> variables_;
};

}  // namespace mneme::codegen::host
