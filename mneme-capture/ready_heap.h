// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>

namespace mneme::capture {

// Gets the heap memory for what is going to be noted of so many bytes of an application's, block by block, and has it
// keep that: lists of megabytes, whose memory would be the system's again after each snapshot, and to touch new memory
// takes several times as long as to fill it. For the calling thread's heap.
void make_heap_ready(uint64_t bytes);

}  // namespace mneme::capture
