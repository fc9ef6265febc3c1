// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the lanes of a wave have to synchronise so that hazards keep their order (in_step.h).
#pragma once
#include <llvm/IR/Function.h>

#include <string>
#include <vector>

#include "codegen/host/sync/shared_access.h"

namespace mneme::codegen::host {

struct SyncContext {
  const Spaces& spaces;
  unsigned wave_size;
  Calls calls;
  bool any_rows;  // blocks may have dimensions that nobody asks for
};

struct SyncPoint {
  llvm::Instruction* before;
  bool of_block;        // all work-items of the block come there
  std::string between;  // "the store to 'tile' at app.hip:12 and the load from 'tile' at app.hip:13"
};

// What a function does itself with memory whose accesses may be hazards.
Calls effects_of(llvm::Function& function, const Spaces& spaces);
struct SyncPoints {
  std::vector<SyncPoint> points;
  // Not 0: that is enough only where lanes of a wave differ in so many dimensions, the first ones.
  unsigned dimensions = 0;
  // Two accesses, as in SyncPoint, that keep no order since lanes of a wave may wait for each other there; or empty.
  std::string unordered;
};

// Changes nothing in the function. A call counts as an access, so what was done before a function is called, and what
// is done behind that, is the caller's.
SyncPoints find_sync_points(llvm::Function& function, const SyncContext& context, bool is_kernel);

}  // namespace mneme::codegen::host
