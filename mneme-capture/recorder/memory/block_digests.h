// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <vector>

#include "recorder/link/protocol.h"
#include "recorder/runtime/runtime.h"

namespace mneme::record {

// The digests of the blocks that lie wholly in one piece of memory, and wholly in one that is readable.
std::vector<Digests> digests_of(const std::vector<MemoryRange>& memory, const std::vector<MemoryRange>& readable);

}  // namespace mneme::record
