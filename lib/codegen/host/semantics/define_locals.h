// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

// Local variables begin as zeros. A kernel that copies a structure with members it never set stores whatever was there:
// a right replay would then differ from the recording.
//
//   %a = alloca [4 x i32]   ──▶   %a = alloca [4 x i32]
//                                 memset(%a, 0, 16)
//
// The memset is where the variable's lifetime begins, each time. Relies on nothing; what is overwritten before it is
// read costs nothing once optimised.
void define_locals(llvm::Module& module);

}  // namespace mneme::codegen::host
