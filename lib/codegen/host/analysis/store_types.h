// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include <vector>

#include "bundle/format.h"

namespace mneme::codegen::host {

// What the kernel stores through each pointer in its arguments, to each device variable, and through pointers of other
// origin (loaded from memory, or computed), all of the latter together. Stores to shared memory and to the work-item's
// own do not count, nor does setting bytes to zero, which is the zero of every type; a zero that is stored counts where
// nothing else is. Vectors, arrays and structures are of the type that all in them have. The module is flattened,
// inlined, and its locals are promoted.
std::vector<bundle::StoreType> store_types(const llvm::Module& module, const bundle::KernelInfo& kernel);

}  // namespace mneme::codegen::host
