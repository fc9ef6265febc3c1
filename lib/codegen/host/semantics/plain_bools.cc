// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/semantics/plain_bools.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

namespace mneme::codegen::host {

void take_bools_as_they_are(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (llvm::isa<llvm::LoadInst>(instruction) && instruction.getType()->isIntegerTy(8))
        instruction.setMetadata(llvm::LLVMContext::MD_range, nullptr);
    }
  }
}

}  // namespace mneme::codegen::host
