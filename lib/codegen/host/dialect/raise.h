// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include "bundle/format.h"

namespace mneme::codegen::host {

// Rewrites a kernel's IR, in whichever vendor's dialect its triple names, to the neutral form, but for address spaces,
// which are only noted down as memory classes (flatten_address_spaces follows). Throws Error naming the first thing
// that the host device does not have.
void raise(llvm::Module& module, const bundle::KernelInfo& kernel, bool fuse);

// Its part for kernels that have Mneme's allocator (kernel_heap.cc), whatever the dialect.
void raise_kernel_heap(llvm::Module& module);

// How many threads a block of the kernel may have: __launch_bounds__, or what the compiler was told holds for all.
uint32_t most_threads(const llvm::Module& module, const bundle::KernelInfo& kernel);

}  // namespace mneme::codegen::host
