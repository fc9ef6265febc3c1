// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include "bundle/format.h"

namespace mneme::codegen::host {

// Calls through pointers become a choice between direct calls of the functions that the pointer may lead to: those of
// its type whose address is taken, or that are external. These can then be inlined and may hold barriers. Addresses of
// functions become numbers (function_addresses.h).
//
//   call void %f(i32 %a)   ──▶   switch (number of %f) { case 17: g(a); … default: stop }
//
// Relies on flat IR with the kernel's name kept; makes all other functions internal. A pointer that leads to none of
// them ends the launch.
void lower_indirect_calls(llvm::Module& module, const bundle::KernelInfo& kernel);

}  // namespace mneme::codegen::host
