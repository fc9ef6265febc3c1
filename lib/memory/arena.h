// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace mneme::memory {

// The ranges in which all memory that kernels see lies, at the same place in every process.
inline constexpr uint64_t kDeviceBase = 0x400000000000;
inline constexpr uint64_t kHostBase = 0x600000000000;
// From here up to kDeviceBase lies what applications map themselves, as far as it is theirs to say where: device
// memory.
inline constexpr uint64_t kMappedBase = 0x300000000000;
inline constexpr uint64_t kDefaultRangeSize = uint64_t{1} << 40;  // bytes of address space, each

// Each device has a range of its own, one behind the other, the first at kDeviceBase.
inline constexpr int kMostDevices = 8;
constexpr uint64_t device_base(int device, uint64_t range_size = kDefaultRangeSize) {
  return kDeviceBase + static_cast<uint64_t>(device) * std::max(range_size, kDefaultRangeSize);
}

// Where Linux puts position-independent programs, their variables and what brk gives them. They may be shown to a
// device, and are the host's.
inline constexpr uint64_t kProgramsBegin = 0x555000000000;
inline constexpr uint64_t kProgramsEnd = 0x570000000000;

// Whether what a recording has there is a device's own memory.
constexpr bool is_device_memory(uint64_t address) {
  return address >= kMappedBase && address < kHostBase && !(address >= kProgramsBegin && address < kProgramsEnd);
}

struct Allocation {
  uint64_t address = 0;
  uint64_t size = 0;  // bytes as asked for, at least 1
};

// A deterministic first-fit allocator over an address range: the same calls give the same addresses.
// It only does the sums; backing the addresses with memory is its user's: `high_water()` tells how far
// from the base memory is needed. Not thread-safe.
class Arena {
 public:
  Arena(uint64_t base, uint64_t size);

  // nullopt when the range is exhausted. `align` is a power of two.
  std::optional<uint64_t> allocate(uint64_t size, uint64_t align = 256);
  bool release(uint64_t address);  // false: not the start of an allocation
  // The allocation that contains the address.
  std::optional<Allocation> find(uint64_t address) const;
  const std::map<uint64_t, uint64_t>& allocations() const { return live_; }  // address → size
  uint64_t live_bytes() const { return live_bytes_; }                        // as asked for
  uint64_t base() const { return base_; }
  uint64_t size() const { return size_; }
  // One past the highest address ever allocated.
  uint64_t high_water() const { return high_water_; }

 private:
  uint64_t base_, size_, high_water_;
  uint64_t live_bytes_ = 0;
  std::map<uint64_t, uint64_t> live_;  // address → size
  std::map<uint64_t, uint64_t> free_;  // address → size, coalesced
};

}  // namespace mneme::memory
