// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/analysis/promoted_copy.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Transforms/Scalar/BDCE.h>
#include <llvm/Transforms/Scalar/InstSimplifyPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "ir/function_passes.h"

namespace mneme::codegen::host {
namespace {

// What replaces an access keeps its scopes.
constexpr unsigned kMark = llvm::LLVMContext::MD_alias_scope;

void promote_locals(llvm::Function& function) {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  passes.addPass(llvm::InstSimplifyPass());
  passes.addPass(llvm::BDCEPass());
  // Again, for what one local held was where another lies.
  auto locals = [&] { return llvm::count_if(llvm::instructions(function), llvm::IsaPred<llvm::AllocaInst>); };
  std::ptrdiff_t before = 0;
  do {
    before = locals();
    ir::run_passes(passes, function);
  } while (locals() < before);
}

}  // namespace

PromotedCopy::PromotedCopy(llvm::Function& function) {
  llvm::ValueToValueMapTy copies;
  copy_ = llvm::CloneFunction(&function, copies);
  for (llvm::BasicBlock& block : function) {
    blocks_[llvm::cast<llvm::BasicBlock>(copies.lookup(&block))] = &block;
    for (llvm::Instruction& instruction : block) {
      if (!instruction.mayReadOrWriteMemory()) continue;
      if (llvm::Value* there = copies.lookup(&instruction)) mark(*llvm::cast<llvm::Instruction>(there), instruction);
    }
  }
  promote_locals(*copy_);
}

llvm::Instruction* PromotedCopy::original(const llvm::Instruction& instruction) const {
  llvm::BasicBlock* block = original(*instruction.getParent());
  if (instruction.isTerminator()) return block->getTerminator();
  if (llvm::Instruction* access = marked(instruction)) return access;
  for (const llvm::Instruction* before = instruction.getPrevNode(); before; before = before->getPrevNode()) {
    if (llvm::Instruction* access = marked(*before)) return access->getNextNode();
  }
  return &*block->getFirstInsertionPt();
}

void PromotedCopy::mark(llvm::Instruction& there, llvm::Instruction& instruction) {
  llvm::LLVMContext& context = there.getContext();
  auto* number = llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), accesses_.size());
  there.setMetadata(kMark, llvm::MDNode::get(context, llvm::ConstantAsMetadata::get(number)));
  accesses_.push_back(&instruction);
}

llvm::Instruction* PromotedCopy::marked(const llvm::Instruction& there) const {
  const llvm::MDNode* mark = there.getMetadata(kMark);
  if (!mark) return nullptr;
  return accesses_[llvm::mdconst::extract<llvm::ConstantInt>(mark->getOperand(0))->getZExtValue()];
}

}  // namespace mneme::codegen::host
