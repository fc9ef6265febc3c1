// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What several executions of the same code left in memory, as one run tells it.
#pragma once
#include <vector>

#include "bundle/format.h"

namespace mneme::run {

// How memory differed after one more execution. Each outcome is there once, and the surplus in the last.
void note_differences(bundle::RunInfo& run, std::vector<bundle::SegmentDifference> differences);

// One more round of the same variant on the same instance. Where that failed, the run has.
void join(bundle::RunInfo& run, bundle::RunInfo round);

}  // namespace mneme::run
