// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

// Where a module computes with bfloat16, LLVM calls functions that round to it, which the C runtime may not have: adds
// them. To the nearest, ties to even; a NaN becomes a quiet one. Nothing may be optimised away afterwards.
void define_brain_float_functions(llvm::Module& module);

}  // namespace mneme::codegen::host
