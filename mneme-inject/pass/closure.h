// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <string>

namespace mneme::inject {

// A module of its own with the kernel and, transitively, every function and variable that it uses; nothing
// else of the translation unit, no debug information, and nothing that says where or how it was compiled, so
// that the same code gives the same bitcode. `debuggable`: with the debug information of this code.
std::unique_ptr<llvm::Module> closure_of(const llvm::Function& kernel, bool debuggable = false);

// Whether it was compiled with debug information.
bool is_debuggable(const llvm::Function& kernel);

std::string bitcode_of(const llvm::Module& module);

}  // namespace mneme::inject
