// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

// Whom work-items wait for by reading memory again and again.
enum class WaitsFor { kNobody, kBlock, kGrid };

// On a GPU a work-item may spin on a flag or a lock: whoever is to change it runs meanwhile. Here others run when a
// work-item stops for them, so it yields each time round a loop that waits:
//
//   while (atomicLoad(flag) == 0) {}   ──▶   while (atomicLoad(flag) == 0) mneme.yield()
//
// A loop waits if one of its exits depends on a value that it reads each time anew at a place that need not be another
// one each time:
//   - a volatile or atomic load; an ordinary one if there is a fence in the loop,
//   - an update that leaves the same there when repeated: atomicAdd(p, 0), atomicExch(p, 1),
//   - a compare-and-swap that expects what it was told before the loop, as a lock's.
// No waits are compare-and-swaps of what was just read, which succeed unless another core interferes, and loops that
// get on by themselves: over lists and tables, as long as an index grows, or drawing numbers with atomicAdd(p, 1).
//
// Relies on everything being inlined that can be. Comes behind in_step.h, and before atomics on shared memory become
// ordinary accesses.
WaitsFor yield_in_waits(llvm::Module& module);

}  // namespace mneme::codegen::host
