// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <map>
#include <span>

#include "device/hip/runtime.h"
#include "device/image.h"

namespace mneme::device::hip {

// Memory at the recording's addresses, as an AMD GPU's kernels see it: the device's own in the ranges of device memory
// (memory/arena.h), the host's elsewhere. Where the runtime's virtual memory functions do not work, which shows when
// they are tried, device memory is one large allocation made at the start, as the recorder makes it there: what was
// recorded in such a one can be replayed if it comes back at the same address. Gives all back at its end.
class RecordedMemory {
 public:
  RecordedMemory();
  ~RecordedMemory();
  RecordedMemory(const RecordedMemory&) = delete;
  RecordedMemory& operator=(const RecordedMemory&) = delete;

  // Where the recording had device memory: another runtime's allocation is replayed as memory of this device too, at
  // the same address.
  void expect(std::span<const BlockRange> ranges);
  // Zeroed memory behind [address, address + size), multiples of a block. Throws Error naming the range when something
  // else is there.
  void map(uint64_t address, uint64_t size);
  // Gives all memory back. The addresses of device memory stay reserved.
  void unmap();
  // Throws Error unless all of it has been mapped.
  void check_mapped(uint64_t address, uint64_t size) const;
  // All that map() was asked for: from address to end, apart from each other.
  const std::map<uint64_t, uint64_t>& ranges() const { return known_; }
  // What the runtime gave for it: address → size. More than what was asked for, and in other parts.
  const std::map<uint64_t, uint64_t>& pieces() const { return pieces_; }

 private:
  Result create(Allocation** allocation, uint64_t size) const;
  bool try_virtual_memory();
  void take_plain();
  bool is_plain(uint64_t address) const { return address - plain_begin_ < plain_end_ - plain_begin_; }
  bool is_device(uint64_t address) const;
  // [address, end), which lie where device memory does.
  void reserve(uint64_t address, uint64_t end);
  void reserve_window(uint64_t window, uint64_t size);
  void back_device(uint64_t begin, uint64_t end);
  void back_host(uint64_t begin, uint64_t end);
  bool give_back(uint64_t address, uint64_t size);

  bool virtual_ = false;  // the functions work
  bool newer_ = true;     // the form of their structure
  void* plain_ = nullptr;
  uint64_t plain_begin_ = 0, plain_end_ = 0;  // whole blocks of it
  std::map<uint64_t, uint64_t> elsewhere_;    // other device memory of the recording's: address → size, whole granules
  std::map<uint64_t, uint64_t> windows_;      // reserved: address → size
  std::map<uint64_t, uint64_t> pieces_;       // with memory behind them
  std::map<uint64_t, uint64_t> known_;        // see ranges()
};

}  // namespace mneme::device::hip
