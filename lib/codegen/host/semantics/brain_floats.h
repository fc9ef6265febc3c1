// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

// LLVM's back end calls functions that round to bfloat16, which the C runtime may not have. Adds them, where the module
// computes with that type. They round to nearest, ties to even; a NaN becomes a quiet one.
//
//   fptrunc float %x to bfloat   ──▶   call of __truncsfbf2, defined in the module
//
// Relies on being last: a definition that IR does not call yet would be optimised away.
void define_brain_float_functions(llvm::Module& module);

}  // namespace mneme::codegen::host
