// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <vector>

#include "recorder/link/protocol.h"

namespace mneme::record {

// Adds the runs of blocks that are wholly in one of the ranges `in` and have no byte in any of `out`. All are by
// address, and `in` and `out` disjoint within themselves.
void add_blocks(const std::vector<MemoryRange>& in, const std::vector<MemoryRange>& out,
                std::vector<MemoryRange>& blocks);

}  // namespace mneme::record
