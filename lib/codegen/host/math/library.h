// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of math/, as LLVM IR that is linked into a kernel's module and inlined there.
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

// A declaration of `mneme_<name>`, to be defined by link_math_library.
llvm::FunctionCallee math_function(llvm::Module& module, llvm::StringRef name, llvm::Type* result,
                                   llvm::ArrayRef<llvm::Type*> arguments);

// Defines those that are declared.
void link_math_library(llvm::Module& module);

// In a module for `algebra` (math/algebra.h) math_function() declares functions of other names, which stay undefined:
// whether it is one, and its name without what says of which type it is.
bool is_algebra_function(const llvm::Function& function);
llvm::StringRef plain_name(const llvm::Function& function);
// Defines those of the ring (math/ring.c) that are declared.
void link_ring(llvm::Module& module);

}  // namespace mneme::codegen::host
