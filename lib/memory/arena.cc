// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/arena.h"

#include <algorithm>
#include <iterator>

namespace mneme::memory {
namespace {

// Allocations occupy multiples of this, so that many small ones leave no slivers to search.
constexpr uint64_t kGrain = 256;

constexpr uint64_t round_up(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

}  // namespace

Arena::Arena(uint64_t base, uint64_t size) : base_(base), size_(size), high_water_(base) {
  // The grain has to fit: what does not is left unused at the ends.
  uint64_t first = round_up(base, kGrain);
  uint64_t last = (base + size) / kGrain * kGrain;
  if (last > first) free_.emplace(first, last - first);
}

std::optional<uint64_t> Arena::allocate(uint64_t size, uint64_t align) {
  if (size > size_) return std::nullopt;
  size = std::max<uint64_t>(size, 1);
  align = std::max(align, kGrain);
  uint64_t extent = round_up(size, kGrain);
  for (auto hole = free_.begin(); hole != free_.end(); ++hole) {
    auto [start, length] = *hole;
    uint64_t address = round_up(start, align);
    if (address < start || address - start > length || length - (address - start) < extent) continue;
    free_.erase(hole);
    if (address > start) free_.emplace(start, address - start);
    if (uint64_t rest = start + length - (address + extent)) free_.emplace(address + extent, rest);
    live_.emplace(address, size);
    live_bytes_ += size;
    high_water_ = std::max(high_water_, address + size);
    return address;
  }
  return std::nullopt;
}

bool Arena::release(uint64_t address) {
  auto found = live_.find(address);
  if (found == live_.end()) return false;
  uint64_t length = round_up(found->second, kGrain);
  live_bytes_ -= found->second;
  live_.erase(found);
  auto after = free_.lower_bound(address);
  if (after != free_.end() && address + length == after->first) {
    length += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    auto before = std::prev(after);
    if (before->first + before->second == address) {
      before->second += length;
      return true;
    }
  }
  free_.emplace_hint(after, address, length);
  return true;
}

std::optional<Allocation> Arena::find(uint64_t address) const {
  auto after = live_.upper_bound(address);
  if (after == live_.begin()) return std::nullopt;
  auto [start, size] = *std::prev(after);
  if (address - start >= size) return std::nullopt;
  return Allocation{start, size};
}

}  // namespace mneme::memory
