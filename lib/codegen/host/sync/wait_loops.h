// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>

#include "codegen/host/sync/waits.h"

namespace mneme::codegen::host {

// Whom those wait for who go round a loop (waits.h says which loops wait), in a function whose local variables are in
// registers where they can be.
WaitsFor waits_for(const llvm::Loop& loop, const llvm::DominatorTree& dominators);

}  // namespace mneme::codegen::host
