// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/semantics/define_locals.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <vector>

namespace mneme::codegen::host {
namespace {

// Where its life begins, once or several times; else where it is made.
std::vector<llvm::Instruction*> beginnings(llvm::AllocaInst& local) {
  std::vector<llvm::Instruction*> found;
  for (llvm::User* user : local.users()) {
    auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(user);
    if (intrinsic && intrinsic->getIntrinsicID() == llvm::Intrinsic::lifetime_start) found.push_back(intrinsic);
  }
  if (found.empty()) found.push_back(&local);
  return found;
}

}  // namespace

void define_locals(llvm::Module& module) {
  const llvm::DataLayout& layout = module.getDataLayout();
  for (llvm::Function& function : module) {
    std::vector<llvm::AllocaInst*> locals;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* local = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
      if (local && local->isStaticAlloca()) locals.push_back(local);
    }
    for (llvm::AllocaInst* local : locals) {
      for (llvm::Instruction* beginning : beginnings(*local)) {
        llvm::IRBuilder<> builder(beginning->getNextNode());
        builder.CreateMemSet(local, builder.getInt8(0), *local->getAllocationSize(layout), local->getAlign());
      }
    }
  }
}

}  // namespace mneme::codegen::host
