// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The heap of a program that was recorded on a GPU, whose kernels have Mneme's allocator (device/heap/allocator.h): on
// the host device they allocate as they did there.
#pragma once
#include <cstdint>

#include "objects/device_heap.h"

namespace mneme::device::host {

// The work-item that allocates.
struct HeapUser {
  uint64_t group = 0, groups = 1;    // number of its block, of so many
  uint64_t thread = 0, threads = 1;  // number in the block, of so many
};

// Null: there is no room. Memory that is no such heap is
// read and written where a heap has its tables: as a kernel's own wild accesses, that may fault.
void* gpu_heap_allocate(const objects::HeapVariable& heap, uint64_t size, const HeapUser& user);
bool gpu_heap_holds(const objects::HeapVariable& heap, const void* address);
void gpu_heap_release(const objects::HeapVariable& heap, void* address);

}  // namespace mneme::device::host
