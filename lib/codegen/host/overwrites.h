// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

// A variable in shared memory that all threads read, and that is written before they have met again: the barrier in
// between was forgotten, or left out since the lanes of a wave run in step. A GPU seldom shows it:
//   while (next < count) { …; if (threadIdx.x == 0) next = atomicAdd(head, 1); __syncthreads(); }
//   do { done = true; __syncthreads(); …; if (changed) done = false; __syncthreads(); } while (!done);
// Here one work-item would write before the next one reads, always. So lanes meet (mneme.wave.meet) before such a
// store. Only for variables and elements at a fixed place; reads that only some lanes make, and what one lane reads and
// then writes by itself, need nothing. Wants everything inlined that can be.
void meet_before_overwriting(llvm::Module& module);

}  // namespace mneme::codegen::host
