// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include "bundle/format.h"

namespace mneme::codegen::host {

// Rewrites a kernel's IR, in whichever vendor's dialect its triple names, to the neutral form, but for address spaces,
// which are kept as memory classes (flatten_address_spaces follows).
//
//   call i32 @llvm.amdgcn.workitem.id.x()          call i32 @mneme.local.id.x()
//   call void @llvm.nvvm.barrier0()         ──▶    call void @mneme.barrier()
//   call float @__ocml_sin_f32(float %x)           mneme's sine, inlined
//
// Relies on IR as clang emits it for a GPU, its device library linked. Throws Error naming the first thing that the
// host device does not have.
void raise(llvm::Module& module, const bundle::KernelInfo& kernel, bool fuse);

// Its part for kernels that have Mneme's allocator (kernel_heap.cc), whatever the dialect.
void raise_kernel_heap(llvm::Module& module);

// How many threads a block of the kernel may have: __launch_bounds__, or what the compiler was told holds for all.
uint32_t most_threads(const llvm::Module& module, const bundle::KernelInfo& kernel);

}  // namespace mneme::codegen::host
