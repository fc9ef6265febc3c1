// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions that some of AMD's processors have, by what HIP's headers and libraries take on those that lack them.
#pragma once
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include "codegen/amdgpu/target_id.h"

namespace mneme::codegen::amdgpu {

// Clocks, and additions to floating-point numbers in memory. `processor` is what LLVM knows of the target. Where that
// has the instructions nothing changes.
void replace_lacking(llvm::Module& module, const TargetId& target, const llvm::MCSubtargetInfo& processor);

}  // namespace mneme::codegen::amdgpu
