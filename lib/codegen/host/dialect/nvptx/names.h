// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/ADT/StringRef.h>

#include <string>

namespace mneme::codegen::host {

// The PTX instruction that one of LLVM's nvvm intrinsics stands for, with the same operands: "fma.rn.ftz.f32" for
// "fma.rn.ftz.f" ("llvm.nvvm." before it). Empty: none does.
std::string ptx_name_of(llvm::StringRef intrinsic);

}  // namespace mneme::codegen::host
