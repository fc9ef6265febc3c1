// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the lanes of a wave have to synchronise so that hazards keep their order (in_step.h).
#pragma once
#include <llvm/IR/Function.h>

#include <vector>

#include "codegen/host/sync/shared_access.h"

namespace mneme::codegen::host {

struct SyncContext {
  const Spaces& spaces;
  unsigned wave_size;
  bool calls_touch;  // functions that were not inlined have accesses that are considered
};

struct SyncPlace {
  llvm::Instruction* before;
  bool of_block;  // all work-items of the block come there
};

// Whether a function has accesses that may be hazards by what they are.
bool touches_considered(llvm::Function& function, const Spaces& spaces);
// Changes nothing in the function.
std::vector<SyncPlace> find_sync_places(llvm::Function& function, const SyncContext& context, bool is_kernel);

}  // namespace mneme::codegen::host
