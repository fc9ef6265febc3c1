// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The heap that kernels allocate from where mneme-inject has put its own allocator in place of the vendor's
// (lib/device/heap): memory like any other, which a recording has and a replay restores.
#pragma once
#include <cstdint>

namespace mneme::objects {

// The variable of device code that says where the heap is; every module that allocates has one. All zero: there is
// none, and the vendor's heap serves.
inline constexpr char kHeapVariable[] = "__mneme_heap";
// The functions that take the place of the vendor's malloc() and free().
inline constexpr char kHeapAllocate[] = "__mneme_malloc", kHeapRelease[] = "__mneme_free";
struct HeapVariable {
  uint64_t base = 0;  // of memory that is zero at first, a multiple of 16
  uint64_t size = 0;  // bytes
};

// Bytes for a heap that holds what a vendor's of `limit` bytes (cudaLimitMallocHeapSize) does: slots are up to a
// quarter larger than what is asked for, a chunk of 64 KiB or more serves one size, and sizes are to lie apart.
constexpr uint64_t heap_bytes(uint64_t limit) { return limit + limit / 2 + (uint64_t{40} << 20); }

}  // namespace mneme::objects
