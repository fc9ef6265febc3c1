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

}  // namespace mneme::codegen::host
