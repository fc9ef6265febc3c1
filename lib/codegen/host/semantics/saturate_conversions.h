// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

// A GPU's conversion of a floating-point number to an integer gives the nearest integer there is for a number that is
// too large or too small, and 0 for NaN; programs count on it. LLVM's is poison then, and the host's instructions give
// something else.
//
//   fptosi float %x to i32   ──▶   call i32 @llvm.fptosi.sat.i32.f32(float %x)
//
// Types of less than 32 bits get the low bits of the 32-bit result, as there, but for 16 bits of half precision. Relies
// on nothing.
void saturate_conversions(llvm::Module& module);

}  // namespace mneme::codegen::host
