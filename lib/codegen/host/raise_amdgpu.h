// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include "bundle/format.h"

namespace mneme::codegen::host {

// Rewrites a kernel's AMDGPU IR to the neutral form, but for address spaces, which it only notes down
// as memory classes (flatten_address_spaces follows). Device-library functions are taken by name where
// the host has an equal, before their insides are looked at; what remains of AMDGPU's intrinsics is
// rewritten one by one. Throws Error naming the first that the host device does not have.
void raise_amdgpu(llvm::Module& module, const bundle::KernelInfo& kernel, bool fuse);

// The parts, each in a file of its own.
void raise_work_item_functions(llvm::Module& module);  // __ockl_get_local_id, …
void raise_math_functions(llvm::Module& module);       // __ocml_sin_f32, …
// One call of an llvm.amdgcn intrinsic; false: not one that is known.
bool raise_intrinsic(llvm::CallInst& call, const bundle::KernelInfo& kernel);

}  // namespace mneme::codegen::host
