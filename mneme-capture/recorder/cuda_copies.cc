// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda_copies.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/error.h"
#include "recorder/cuda_devices.h"

namespace mneme::record::cuda {
namespace {

using bundle::kBlockSize;

// Asking for digests of less than that takes longer than copying it all.
constexpr uint64_t kWorthDigests = 16 << 20;

uint64_t block_at_or_before(uint64_t address) { return address / kBlockSize * kBlockSize; }
uint64_t block_at_or_after(uint64_t address) { return block_at_or_before(address + kBlockSize - 1); }

}  // namespace

std::optional<Fd> Copies::make(MemoryRange range, int device) {
  Fd memory = zeroed_memory_file("mneme-device", range.size);
  void* mapped = ::mmap(nullptr, range.size, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (mapped == MAP_FAILED) return std::nullopt;
  uint64_t first = block_at_or_after(range.address), end = block_at_or_before(range.address + range.size);
  std::vector<Digest> blocks(first < end ? (end - first) / kBlockSize : 0, bundle::zero_block_digest());
  std::lock_guard lock(mutex_);
  copies_[range.address] = {range.size, static_cast<std::byte*>(mapped), device, std::move(blocks)};
  return memory;
}

void Copies::drop(uint64_t address) {
  std::lock_guard lock(mutex_);
  auto found = copies_.find(address);
  if (found == copies_.end()) return;
  ::munmap(found->second.mapped, found->second.size);
  copies_.erase(found);
}

uint64_t Copies::devices() const {
  std::lock_guard lock(mutex_);
  uint64_t devices = 0;
  for (const auto& [address, copy] : copies_) devices |= uint64_t{1} << copy.device;
  return devices;
}

Copies::Place Copies::copy_of(uint64_t address) {
  auto after = copies_.upper_bound(address);
  if (after != copies_.begin()) {
    auto found = std::prev(after);
    if (address - found->first < found->second.size) return found;
  }
  throw mneme::Error::of("device memory at {:#x} has no copy", address);
}

void Copies::fetch(Place place, uint64_t begin, uint64_t end) {
  auto& [start, copy] = *place;
  if (begin < end) staging_.fetch(copy.mapped + (begin - start), begin, end - begin, copy.device);
}

void Copies::refresh(Place place, MemoryRange range, bool by_digests, std::vector<Digests>& known) {
  auto& [start, copy] = *place;
  const uint64_t end = range.address + range.size, first = block_at_or_after(start);
  const uint64_t begin_blocks = std::max(block_at_or_before(range.address), first);
  const uint64_t end_blocks = std::min(block_at_or_after(end), first + copy.blocks.size() * kBlockSize);
  if (begin_blocks >= end_blocks) return fetch(place, range.address, end);
  // What is left over at the copy's own ends.
  fetch(place, range.address, std::min(end, begin_blocks));
  fetch(place, std::max(range.address, end_blocks), end);

  const uint64_t count = (end_blocks - begin_blocks) / kBlockSize;
  auto there = copy.blocks.begin() + static_cast<ptrdiff_t>((begin_blocks - first) / kBlockSize);
  std::vector<Digest> now;
  if (by_digests) {
    OnDevice device(copy.device);
    now = digests_.of(copy.device, begin_blocks, count);
  }
  if (now.empty()) {
    std::fill_n(there, count, Digest{});
    return fetch(place, begin_blocks, end_blocks);
  }
  for (uint64_t i = 0; i < count;) {
    uint64_t from = i;
    while (i < count && now[i] != there[static_cast<ptrdiff_t>(i)]) ++i;
    fetch(place, begin_blocks + from * kBlockSize, begin_blocks + i * kBlockSize);
    while (i < count && now[i] == there[static_cast<ptrdiff_t>(i)]) ++i;
  }
  std::ranges::copy(now, there);
  known.push_back({begin_blocks, std::move(now)});
}

std::vector<Digests> Copies::refresh(const std::vector<MemoryRange>& ranges) {
  std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const MemoryRange& range : ranges) bytes += range.size;
  std::vector<Digests> known;
  for (size_t i = 0; i < ranges.size();) {
    // What lies between near ones goes with them: that costs less than a call.
    uint64_t at = ranges[i].address, end = at + ranges[i].size;
    Place place = copy_of(at);
    for (++i; i < ranges.size() && ranges[i].address >= end && ranges[i].address - end <= kBlockSize &&
              ranges[i].address < place->first + place->second.size;
         ++i) {
      end = ranges[i].address + ranges[i].size;
    }
    while (at < end) {  // it may lie in several copies
      place = copy_of(at);
      uint64_t size = std::min(end, place->first + place->second.size) - at;
      refresh(place, {at, size}, bytes >= kWorthDigests, known);
      at += size;
    }
  }
  staging_.finish();
  return known;
}

}  // namespace mneme::record::cuda
