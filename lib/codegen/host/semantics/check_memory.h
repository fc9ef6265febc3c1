// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory checks: before each access, code asks the caller whether there is such memory (abi.h: Services::check).
//
//   store i32 %v, ptr %p   ──▶   call void @mneme.service.check(ptr %origin, ptr %p, i64 4, i32 1, i32 4)
//                                store i32 %v, ptr %p
//
// Relies on the neutral form, with everything inlined that can be: the origin of a pointer is then seen. Comes before
// atomics on shared memory become ordinary accesses.
#pragma once
#include <llvm/IR/Module.h>

#include <string>

namespace mneme::codegen::host {

// Before anything is optimised: LLVM takes an access through a null pointer for one that never happens. Afterwards all
// functions have the attribute null_pointer_is_valid.
void keep_null_accesses(llvm::Module& module);

// Checked are loads, stores, atomics and memory intrinsics, unless they are certain to stay in the work-item's own
// variables, in the kernel's arguments, in the code's constants, or in a variable.
void check_memory(llvm::Module& module, const std::string& kernel);

}  // namespace mneme::codegen::host
