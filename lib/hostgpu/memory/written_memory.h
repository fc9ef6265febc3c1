// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which bytes of device memory were written since they were given out, for --check init: a shadow byte each, for all
// addresses that device memory is given out at. All of this does nothing without that check.
#pragma once
#include <cstddef>
#include <cstdint>

#include "device/host/launch.h"
#include "hostgpu/memory/known_memory.h"

namespace mneme::hostgpu {

// By a copy, a fill, or whatever is no kernel.
void note_written(const void* to, size_t size);
// A copy from memory of which some bytes were not written leaves as many unwritten.
void note_copied(const void* to, const void* from, size_t size);

// Ahead of a launch: memory that is not given out any more is forgotten, and memory that is no plain allocation (a
// variable, the heap, mapped memory) counts as written. For RunOptions::device.
codegen::host::WrittenRange follow_writes(const MemoryTable& table);

}  // namespace mneme::hostgpu
