// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/semantics/any_alignment.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

namespace mneme::codegen::host {
namespace {

bool is_private(const llvm::Value* pointer) { return llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer)); }

}  // namespace

void allow_any_alignment(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (instruction.isAtomic()) continue;
      if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
        if (!is_private(load->getPointerOperand())) load->setAlignment(llvm::Align());
      } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        if (!is_private(store->getPointerOperand())) store->setAlignment(llvm::Align());
      } else if (auto* bytes = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
        bytes->setDestAlignment(llvm::Align());
        if (auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(bytes)) copy->setSourceAlignment(llvm::Align());
      }
    }
  }
}

}  // namespace mneme::codegen::host
