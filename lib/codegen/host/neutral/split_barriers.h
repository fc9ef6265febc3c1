// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A barrier of the block in two halves: work-items arrive, go on, and wait later for those that have not arrived. Who
// ends has arrived.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "bundle/format.h"

namespace mneme::codegen::host {

// `void mneme.split.arrive()`, `void mneme.split.wait()`
llvm::CallInst* call_split_arrive(llvm::IRBuilderBase& builder);
llvm::CallInst* call_split_wait(llvm::IRBuilderBase& builder);
bool is_split_barrier(const llvm::Function& function);

// Makes barriers of the halves where each way from an arrival leads to a wait, past nothing that may wait itself:
//
//   call void @mneme.split.arrive()
//   %a = load float, ptr %in           ──▶   %a = load float, ptr %in
//   call void @mneme.split.wait()            call void @mneme.barrier()
//
// Else they are three words of shared memory: how many have arrived, how often the barrier has opened, and how many
// have ended. Relies on inlining. Throws Error where a half is in a function that could not be inlined.
void join_split_barriers(llvm::Module& module, const bundle::KernelInfo& kernel);

}  // namespace mneme::codegen::host
