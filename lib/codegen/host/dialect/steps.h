// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps that raising any vendor's dialect takes.
#pragma once
#include <llvm/IR/Module.h>

#include "bundle/format.h"

namespace mneme::codegen::host {

// The kernel. Throws Error when the IR does not define it.
llvm::Function& kernel_in(llvm::Module& module, const bundle::KernelInfo& kernel);

// Drops what the kernel does not reach: a device library brings along far more than a kernel uses.
void prune(llvm::Module& module, llvm::Function& kernel);

// Notes down what memory each variable stands for. The vendors number the address spaces alike: 1 global, 3 shared,
// 4 constant, 5 private.
void classify_memory(llvm::Module& module, const bundle::KernelInfo& kernel);
inline constexpr unsigned kSharedSpace = 3;

// Scopes of atomic accesses and fences as the host has them.
void raise_scopes(llvm::Module& module);

// Fusing changes a result's bits, and by default every level must give the same ones: neither fmuladd nor the
// `contract` flag is left for the back end to decide about.
void unfuse(llvm::Module& module);

}  // namespace mneme::codegen::host
