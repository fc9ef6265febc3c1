// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::inject {

// Has the kernels of a module for a GPU allocate by Mneme's allocator (lib/device/heap), whose state a recording has,
// in place of the vendor's. A module that does not allocate stays as it is. Throws Error.
void use_own_heap(llvm::Module& module);

}  // namespace mneme::inject
