// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <map>

#include "device/cuda/driver.h"

namespace mneme::device::cuda {

// Memory at the recording's addresses, as a GPU's kernels see it: the device's own in the ranges of device memory
// (memory/arena.h), the host's elsewhere. Of the context that is current. Gives all back at its end.
class RecordedMemory {
 public:
  explicit RecordedMemory(int device);
  ~RecordedMemory();
  RecordedMemory(const RecordedMemory&) = delete;
  RecordedMemory& operator=(const RecordedMemory&) = delete;

  // Zeroed memory behind [address, address + size), multiples of a block. Throws Error naming the range when something
  // else is there.
  void map(uint64_t address, uint64_t size);
  // Gives all memory back. The addresses of device memory stay reserved.
  void unmap();
  // Throws Error unless all of it has been mapped.
  void check_mapped(uint64_t address, uint64_t size) const;
  // All that map() was asked for: from address to end, apart from each other.
  const std::map<uint64_t, uint64_t>& ranges() const { return known_; }

 private:
  void reserve(uint64_t window);
  void back_device(uint64_t begin, uint64_t end);
  void back_host(uint64_t begin, uint64_t end);

  int device_;
  uint64_t granularity_ = 0;
  std::map<uint64_t, uint64_t> windows_;  // reserved: address → size
  std::map<uint64_t, uint64_t> pieces_;   // with memory behind them
  std::map<uint64_t, uint64_t> known_;    // see ranges()
};

}  // namespace mneme::device::cuda
