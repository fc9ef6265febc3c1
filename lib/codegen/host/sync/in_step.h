// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The lanes of a wave run in step on a GPU: where two of them touch the same bytes, one of them writing, they do so in
// program order. Here lanes run one after the other, so between two such accesses they synchronise (mneme.wave.sync):
//
//   s[t] = x;                               s[t] = x;
//   y = s[63 - t];              ──▶         wave.sync
//                                           y = s[63 - t];
//
// After this pass, on every way from an access to a later one there is a place where the lanes of a wave meet, unless
// hazards.h proves that the two are no hazard. Considered are
//
//   - all accesses of shared memory,
//   - volatile accesses of global memory,
//   - accesses of global memory on both sides of a fence; and, in a kernel that has fences or meetings of waves, all
//     accesses of one object in it.
//
// Left as they are: accesses of global memory in a loop in which lanes of a wave may wait for each other, without an
// end to its rounds, and behind it until lanes meet, since a lane that waits must not hold up another; atomic
// operations of different lanes, which have no order; and different waves, for which there are barriers.
//
// Lanes meet outside of loops and divergent branches that the later access is in and the earlier is not; where all
// work-items of the block come that way, they all do (mneme.barrier), which costs less.
//
// Relies on everything being inlined that can be. Fences within a block are gone afterwards, since one CPU thread runs
// it. Of what LLVM may assume of accesses, only that stays which holds between lanes:
//
//   !tbaa, !tbaa.struct      dropped for shared memory: a lane may store halves of a word that another loads
//   !alias.scope, !noalias   dropped likewise: a function's arguments promise that within one call
//   !invariant.load          stays: no lane writes there while the kernel runs
//   lifetime markers         stay: only private memory has them
//   __restrict__             is gone before: a work-item loads its arguments from the block's context (make_item)
#pragma once
#include <llvm/IR/Module.h>

#include <string>
#include <vector>

namespace mneme::codegen::host {

struct LanesInStep {
  std::vector<std::string> remarks;  // a sentence for each place where lanes synchronise now
  // Not 0: order is kept only for blocks of which the lanes of each wave differ in the first so many dimensions: a
  // kernel that asks only for threadIdx.x has most often blocks of one row.
  unsigned dimensions = 0;
};

// `kernel` names its function. `any_rows`: keep order for blocks of any shape, whatever the kernel asks for.
LanesInStep keep_lanes_in_step(llvm::Module& module, const std::string& kernel, unsigned wave_size,
                               bool any_rows = false);

}  // namespace mneme::codegen::host
