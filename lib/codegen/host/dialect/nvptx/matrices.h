// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/ADT/StringRef.h>

#include <string>

namespace mneme::codegen::host {

// The PTX instruction on matrices that one of LLVM's nvvm intrinsics stands for, with the same operands and results:
// "wmma.load.a.sync.aligned.row.m16n16k16.f16" for "wmma.m16n16k16.load.a.row.stride.f16.p0". Empty: none does.
std::string matrix_instruction_of(llvm::StringRef intrinsic);

}  // namespace mneme::codegen::host
