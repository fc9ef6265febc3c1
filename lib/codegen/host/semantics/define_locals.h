// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

// Local variables begin as zeros. A kernel that copies a structure with members it never set stores what happened to be
// there: a replay could not be told from a wrong one. What is overwritten before it is read costs nothing once
// optimised.
void define_locals(llvm::Module& module);

}  // namespace mneme::codegen::host
