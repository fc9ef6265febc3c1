// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The device's heap as launches share it. For code that checks its accesses it knows the pieces by their addresses,
// from the first question on.
#pragma once
#include <atomic>
#include <map>
#include <optional>
#include <shared_mutex>
#include <span>

#include "device/host/heap/heap.h"

namespace mneme::device::host {

class DeviceHeap {
 public:
  // `memory`: as heap.h has it. Once the first question was asked, nobody else changes what the heap keeps in it.
  explicit DeviceHeap(std::span<std::byte> memory) : memory_(memory) {}

  std::span<std::byte> memory() const { return memory_; }
  bool has(uint64_t address) const { return address >= begin() && address < end(); }
  uint64_t begin() const { return reinterpret_cast<uint64_t>(memory_.data()); }
  uint64_t end() const { return begin() + memory_.size(); }

  HeapAnswer allocate(uint64_t size);
  HeapTrouble release(void* address);

  // The piece in use that holds the address.
  std::optional<HeapPiece> piece_at(uint64_t address);
  // What was released there, as far as that is known, and nothing was allocated since.
  std::optional<HeapPiece> released_at(uint64_t address);
  // The piece in use that is nearest to the address.
  std::optional<HeapPiece> nearest_to(uint64_t address);

  // The heap was damaged before the first question, and what lies there is not known.
  bool is_unknown_at(uint64_t address);

  // Changes when a piece goes: until then one that was found is still there.
  uint64_t turn() const { return turn_.load(std::memory_order_acquire); }

 private:
  using Pieces = std::map<uint64_t, uint64_t>;  // address -> size, disjoint

  std::shared_lock<std::shared_mutex> known();
  void learn();
  void gave(HeapPiece piece);

  std::span<std::byte> memory_;
  std::shared_mutex mutex_;
  std::atomic<uint64_t> turn_ = 1;
  bool is_known_ = false;
  uint64_t damaged_from_ = UINT64_MAX;
  Pieces used_, released_;
};

}  // namespace mneme::device::host
