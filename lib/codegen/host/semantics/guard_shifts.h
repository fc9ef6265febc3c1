// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

// What a vendor's instructions make of a shift by as many bits as a number has, or more.
enum class Overshift {
  kWraps,   // AMD's look at the amount's last bits only
  kClamps,  // NVIDIA's: nothing is left but, of a signed number shifted right, its sign
};

// LLVM leaves such a shift undefined, and makes another thing of it at each level. Here it is what it is on the GPU.
void guard_shifts(llvm::Module& module, Overshift overshift);

}  // namespace mneme::codegen::host
