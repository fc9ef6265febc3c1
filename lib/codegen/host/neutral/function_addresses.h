// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The addresses of device functions, as data: numbers that stand for functions. As a rule they are made from names
// alone, so that a pointer to a function that one kernel left in memory, or the host was given, means the same to every
// other kernel, in every process, however often it is compiled. Of a CUDA program they are those that it has on
// NVIDIA's GPUs.
#pragma once
#include <llvm/IR/Module.h>

#include "objects/function_address.h"

namespace mneme::codegen::host {

uint64_t function_address(const bundle::KernelInfo& kernel, llvm::StringRef name);

// Functions that a pointer may lead to although the kernel does not name them, and variables by which the host may come
// by such pointers; mneme-inject lists them in llvm.compiler.used. To be marked before what the kernel does not reach
// is dropped; they become external.
void mark_kept(llvm::Module& module);
bool is_kept(const llvm::GlobalObject& object);

// Replaces every use of a function's address, except by direct calls, by its number. Throws Error when two functions
// have the same, unless a GPU had it so.
void lower_function_addresses(llvm::Module& module, const bundle::KernelInfo& kernel);

}  // namespace mneme::codegen::host
