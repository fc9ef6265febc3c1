// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include <string>

namespace mneme::codegen::host {

// Programs for GPUs rely on the lanes of a wave running in step: a warp's part of a reduction in shared memory has
// `volatile` for the compiler, or a fence, and nothing for the other lanes. Here lanes run one after the other, so
// they are made to meet (mneme.wave.meet)
//   - before a volatile store to shared memory, if shared memory has been used since they met last,
//   - before a volatile load of it, if it has been written since,
//   - before a store to what all have read since (overwrites.h),
//   - between plain accesses of shared memory that exchange values between lanes (shared_exchanges.h),
//   - at a fence with no other such place beside it, in a module that has shared memory or wave operations.
// Fences within a block are gone afterwards: one CPU thread runs it. Wants everything inlined that can be.
// `kernel` names its function, whose arguments do not lead to shared memory.
void meet_in_lock_step(llvm::Module& module, const std::string& kernel);

}  // namespace mneme::codegen::host
