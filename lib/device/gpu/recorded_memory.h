// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>

#include "device/image.h"
#include "memory/arena.h"

namespace mneme::device::gpu {

// Memory at the recording's addresses, as a GPU's kernels see it: the device's own in the ranges of device memory
// (memory/arena.h), the host's elsewhere. A vendor's class has the calls, and gives all back at its end.
class RecordedMemory {
 public:
  RecordedMemory() = default;
  virtual ~RecordedMemory() = default;
  RecordedMemory(const RecordedMemory&) = delete;
  RecordedMemory& operator=(const RecordedMemory&) = delete;

  // Where the recording had device memory: see Device.
  virtual void expect(std::span<const BlockRange>) {}
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

 protected:
  // Reserved as a whole, as the recorder reserves it: some drivers take small requests' addresses for hints.
  static constexpr uint64_t kWindow = memory::kDefaultRangeSize;

  virtual bool is_device(uint64_t address) const { return memory::is_device_memory(address); }
  // Of [address, end), which is device memory; throws Error if there can be none.
  virtual void map_device(uint64_t address, uint64_t end);
  virtual void reserve(uint64_t address, uint64_t end);
  void reserve_window(uint64_t window, uint64_t size);
  // Calls `each` for the parts of [begin, end) that have no memory behind them.
  void for_gaps(uint64_t begin, uint64_t end, const std::function<void(uint64_t, uint64_t)>& each) const;
  // Without an exception; at the end, before the vendor's part of this goes.
  void give_all_back();

  std::map<uint64_t, uint64_t> windows_;  // reserved: address → size
  std::map<uint64_t, uint64_t> pieces_;   // with memory behind them

 private:
  // The vendor's calls. reserve_at() returns where it reserved addresses; 0: nowhere.
  virtual uint64_t granularity() const = 0;
  virtual uint64_t reserve_at(uint64_t window, uint64_t size) = 0;
  virtual void free_addresses(uint64_t window, uint64_t size) = 0;
  // In reserved addresses; adds to the pieces once there is something to give back.
  virtual void back_device(uint64_t begin, uint64_t size) = 0;
  virtual void give_device_back(uint64_t address, uint64_t size) = 0;
  virtual void register_host(void* memory, uint64_t size) = 0;
  virtual uint64_t seen_by_gpu(void* memory) = 0;  // of registered memory
  virtual void unregister_host(void* memory) = 0;

  void back_host(uint64_t begin, uint64_t end);
  void give_back(uint64_t address, uint64_t size);

  std::map<uint64_t, uint64_t> known_;  // see ranges()
};

}  // namespace mneme::device::gpu
