// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The addresses of device functions, as data: numbers that stand for functions, made from their names alone. So a
// pointer to a function that one kernel left in memory, or the host was given, means the same to every other kernel, in
// every process, however often it is compiled.
#pragma once
#include <llvm/IR/Module.h>

#include <cstdint>

namespace mneme::codegen::host {

// Where no memory ever is (memory/arena.h and what Linux does leave it out), a multiple of 16.
inline constexpr uint64_t kFunctionsBegin = 0x6f0000000000;
inline constexpr uint64_t kFunctionsEnd = 0x700000000000;
uint64_t function_address(llvm::StringRef name);

// Functions that a pointer may lead to although the kernel does not name them, and variables by which the host may come
// by such pointers; mneme-inject lists them in llvm.compiler.used. To be marked before what the kernel does not reach
// is dropped; they become external.
void mark_kept(llvm::Module& module);
bool is_kept(const llvm::GlobalObject& object);

// Replaces every use of a function's address, except by direct calls, by its number. Throws Error when two functions
// have the same.
void lower_function_addresses(llvm::Module& module);

}  // namespace mneme::codegen::host
