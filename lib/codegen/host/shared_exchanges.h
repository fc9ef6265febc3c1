// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Function.h>

namespace mneme::codegen::host {

// Lanes of a wave that exchange values through shared memory with no barrier in between, as hardware allows where they
// run in step:
//   s[t] = x;  y = s[63 - t];
//   for (o = 32; o; o /= 2) if (t < o) s[t] += s[t + o];
//   for (…) { s[t] = in[…];  __syncthreads();  for (i = 0; i < 256; ++i) sum += s[i]; }
// Makes lanes meet (mneme.wave.meet) between two accesses of a variable, a store and a load, if a work-item comes from
// one to the other without meeting the others on some way and the two touch the same bytes in different lanes of one
// wave. Whether they do is tried out (lane_values.h) for a few shapes of blocks, waves and iterations of the loops
// around them; so programs that have their barriers, private parts of shared memory, or one lane at work get nothing.
// They meet outside of loops, and of branches where they part, that the second access is in and the first is not; where
// all work-items of the block come that way, they all do (mneme.barrier), which costs less.
//
// Left alone: pointers that may lead to other memory too; what functions do that were not inlined; two stores; locks,
// that is, atomicCAS and atomicExch; volatile accesses behind others, which lock_step.h has; a load, atomic update
// after it; what lanes that are 64 or more apart exchange. Wants places where lanes meet to be there already.
void meet_before_exchanges(llvm::Function& kernel);

}  // namespace mneme::codegen::host
