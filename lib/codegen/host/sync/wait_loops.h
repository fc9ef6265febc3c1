// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>

#include "codegen/host/analysis/uniformity.h"
#include "codegen/host/sync/waits.h"

namespace mneme::codegen::host {

// Whom those wait for who go round a loop (waits.h says which loops wait), in a function whose local variables are in
// registers where they can be.
WaitsFor waits_for(const llvm::Loop& loop, const llvm::DominatorTree& dominators);

// Whether lanes may wait in a loop for others of their wave, which are in it or behind it: the loop waits, and lanes
// look at different places, draw different conclusions, or change memory by looking, as at a lock.
bool may_wait_within_wave(const llvm::Loop& loop, const llvm::DominatorTree& dominators, const Uniformity& uniformity);

}  // namespace mneme::codegen::host
