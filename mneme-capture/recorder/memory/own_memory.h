// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <vector>

#include "recorder/link/protocol.h"

namespace mneme::record {

// What this process can read of its own memory, by address; ranges do not touch.
std::vector<MemoryRange> readable_memory();

// Of that, what no file and no other process has a part in; not the first thread's stack, whose size the C library
// reads off the mappings around it.
std::vector<MemoryRange> memory_of_its_own();

// What it can read that is in none of the ranges of addresses that the recorder gives memory out from, each of
// `range_size` bytes.
std::vector<MemoryRange> ordinary_memory(uint64_t range_size);

}  // namespace mneme::record
