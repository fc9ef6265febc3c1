// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cooperative groups of a whole grid, by name: the header's functions wait for the other blocks at a word of memory
// that the driver provides.
#include <llvm/IR/IRBuilder.h>

#include "codegen/host/dialect/nvptx/raise.h"
#include "codegen/host/dialect/rebuild.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {

void raise_cooperative_groups(llvm::Module& module) {
  for (llvm::Function& function : module) {
    llvm::StringRef name = function.getName();
    if (function.isDeclaration() || !name.contains("18cooperative_groups")) continue;
    // A block that has come is not waited for until it waits itself.
    bool arrives = name.contains("17sync_grids_arrive"), waits = name.contains("15sync_grids_wait");
    if (!arrives && !waits) continue;
    llvm::IRBuilder<> builder = rebuild(function);
    if (waits) call_grid_barrier(builder);
    if (function.getReturnType()->isVoidTy()) {
      builder.CreateRetVoid();
    } else {
      builder.CreateRet(llvm::Constant::getNullValue(function.getReturnType()));
    }
  }
}

}  // namespace mneme::codegen::host
