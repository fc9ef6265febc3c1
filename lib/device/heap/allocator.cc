// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What device code calls in place of the vendor's functions. The vendor's serve where the recorder has given no heap:
// malloc() and free() of CUDA, __ockl_dm_alloc() and __ockl_dm_dealloc() of HIP's device library.
// In this order:
#include "gpu.h"
//
#include "allocator.h"

#ifdef __NVPTX__
using Address = void*;
#else
using Address = u64;
#endif
extern "C" DEVICE Address __mneme_vendor_malloc(u64 size);
extern "C" DEVICE void __mneme_vendor_free(Address memory);

namespace {

DEVICE Thread this_thread() {
  return {number_in(grid_size(), block_index()), product(grid_size()), number_in(block_size(), thread_index()),
          product(block_size())};
}

}  // namespace

// Written by the recorder (mneme-capture/recorder/core/device_heap.h). Every module has one.
extern "C" DEVICE Heap __mneme_heap;
DEVICE Heap __mneme_heap = {nullptr, 0};

extern "C" DEVICE __attribute__((used)) Address __mneme_malloc(u64 size) {
  const Heap heap = __mneme_heap;
  return heap.base ? (Address)allocate(heap, size, this_thread()) : __mneme_vendor_malloc(size);
}

extern "C" DEVICE __attribute__((used)) void __mneme_free(Address memory) {
  const Heap heap = __mneme_heap;
  auto* bytes = (unsigned char*)memory;
  if (holds(heap, bytes)) {
    release(heap, bytes);
  } else {
    __mneme_vendor_free(memory);
  }
}
