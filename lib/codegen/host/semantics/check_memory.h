// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code that finds out before each access whether there is memory to be had (abi.h: Services::check).
#pragma once
#include <llvm/IR/Module.h>

#include <string>

namespace mneme::codegen::host {

// Before anything is optimised: an access through a null pointer is not to be taken for one that never happens.
void keep_null_accesses(llvm::Module& module);

// On the neutral form. What is checked: loads, stores, atomics and memory intrinsics, unless they are certain to stay
// in the work-item's own variables, in the kernel's arguments, in the code's constants, or in a variable.
void check_memory(llvm::Module& module, const std::string& kernel);

}  // namespace mneme::codegen::host
