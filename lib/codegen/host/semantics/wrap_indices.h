// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

// Pointers to shared and private memory have 32 bits on GPUs, and indices into it wrap there: shared[~i] with an
// unsigned i is what lies -i - 1 from it. What a local variable points to is seen once it is a value (promote_locals).
void wrap_indices(llvm::Module& module);

}  // namespace mneme::codegen::host
