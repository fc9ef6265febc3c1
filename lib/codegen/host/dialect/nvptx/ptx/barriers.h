// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Barriers of CUDA's blocks.
#pragma once
#include <llvm/IR/IRBuilder.h>

namespace mneme::codegen::host {

// bar.red: how many threads of the block (popc), whether any (or), all of them (and) brought `true`.
llvm::Value* barrier_vote(llvm::IRBuilderBase& builder, llvm::StringRef operation, llvm::Value* condition);

// bar.sync and bar.arrive with a number of threads: the barrier of that number (0 to 15) opens when as many have come,
// whoever they are. The former wait for it.
void meet_at_named_barrier(llvm::IRBuilderBase& builder, llvm::Value* barrier, llvm::Value* threads);
void arrive_at_named_barrier(llvm::IRBuilderBase& builder, llvm::Value* barrier, llvm::Value* threads);

// What those need at the kernel's beginning, if any are left.
void begin_named_barriers(llvm::Module& module, llvm::Function& kernel);

}  // namespace mneme::codegen::host
