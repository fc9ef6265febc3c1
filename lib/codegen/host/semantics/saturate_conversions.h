// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

// A GPU's instructions that make integers of floating-point numbers give the nearest integer there is for numbers that
// are too large or too small, and 0 for NaN; programs count on it. In LLVM's IR that is undefined, and the host's
// instructions give something else. Types of less than 32 bits get the low bits of the 32-bit result, as there, but for
// 16 bits of half precision.
void saturate_conversions(llvm::Module& module);

}  // namespace mneme::codegen::host
