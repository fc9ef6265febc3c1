// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Function.h>
#include <llvm/IR/PassManager.h>

namespace mneme::ir {

// Runs passes on one function, with the analyses that they ask for.
void run_passes(llvm::FunctionPassManager& passes, llvm::Function& function);

}  // namespace mneme::ir
