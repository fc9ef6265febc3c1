// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include "bundle/format.h"

namespace mneme::codegen::host {

// In flat IR: turns each call through a pointer into a choice between direct calls of the functions that it may lead to
// (those of its type whose address is taken, or that are external), which can then be inlined and may hold barriers;
// and the addresses of functions into numbers (function_addresses.h). A pointer that leads to none of them ends the
// launch.
void lower_indirect_calls(llvm::Module& module, const bundle::KernelInfo& kernel);

}  // namespace mneme::codegen::host
