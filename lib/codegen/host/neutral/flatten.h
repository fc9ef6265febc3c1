// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include <memory>
#include <string>

namespace mneme::codegen::host {

// A copy of the module for the host's data layout in which every pointer is in address space 0: casts between address
// spaces are gone, device attributes and metadata too.
//
//   load float, ptr addrspace(1) %p   ──▶   load float, ptr %p
//
// Relies on raise(), which keeps the memory classes of variables (neutral.h) as attributes. Throws Error naming
// `kernel` for IR whose pointers cannot be widened (pointers made out of 32-bit integers).
std::unique_ptr<llvm::Module> flatten_address_spaces(const llvm::Module& device, const llvm::DataLayout& layout,
                                                     const std::string& triple, const std::string& kernel);

}  // namespace mneme::codegen::host
