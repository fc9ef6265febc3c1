// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The device's heap, from which kernels allocate. All that is known about it lies in its own memory, so that whoever
// records that memory, and restores it at the same address, has recorded the heap.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
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

// As it was asked for.
struct HeapPiece {
  uint64_t address, size;
  bool operator==(const HeapPiece&) const = default;
};
// Calls `take` for the pieces in use and, as far as it shows, for those that were released, by address. Changes nothing
// and trusts nothing that it reads: gives the address from which on the heap is damaged, if it is.
std::optional<uint64_t> heap_walk(std::span<std::byte> heap,
                                  const std::function<void(const HeapPiece&, bool in_use)>& take);

}  // namespace mneme::device::host
