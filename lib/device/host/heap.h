// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The device's heap, from which kernels allocate. All that is known about it lies in its own memory, so that whoever
// records that memory, and restores it at the same address, has recorded the heap.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace mneme::device::host {

// What is wrong with a heap, or with what was asked of it.
enum class HeapTrouble {
  kNone,
  kDamaged,       // something wrote where it should not
  kReleased,      // released already
  kNotAllocated,  // not the start of anything that was allocated here
};

// `heap`: aligned to 16; zeros before its first use. One thread at a time. The same calls give the same addresses.
struct HeapAnswer {
  void* address;  // aligned to 16; null: it is full, or asked for nothing
  HeapTrouble trouble;
};
HeapAnswer heap_allocate(std::span<std::byte> heap, uint64_t size);
HeapTrouble heap_release(std::span<std::byte> heap, void* address);

}  // namespace mneme::device::host
