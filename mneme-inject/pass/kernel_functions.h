// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

namespace mneme::inject {

using KernelFunctions = llvm::SmallPtrSet<const llvm::Function*, 16>;

// The kernels that a module defines. AMDGPU's have a calling convention of their own; NVPTX's are listed in metadata.
KernelFunctions kernels_in(const llvm::Module& module);

// Takes what NVPTX's metadata says of functions that are no longer in the module out of it.
void forget_missing_functions(llvm::Module& module);

}  // namespace mneme::inject
