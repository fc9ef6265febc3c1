// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

// Pointers to shared and private memory have 32 bits on GPUs, and indices into it wrap there: shared[~i] with an
// unsigned i is what lies i + 1 elements before it.
//
//   %k = zext i32 %i to i64                          %k = sext i32 %i to i64
//   getelementptr i32, ptr @shared, i64 %k   ──▶     getelementptr i32, ptr @shared, i64 %k
//
// Relies on promote_locals: only then is it seen what a local variable points to.
void wrap_indices(llvm::Module& module);

}  // namespace mneme::codegen::host
