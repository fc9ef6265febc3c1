// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/write_watch.h"

#include <algorithm>
#include <utility>

#include "recorder/memory/block_runs.h"
#include "recorder/memory/device_writes.h"

namespace mneme::record {
namespace {

constexpr uint64_t kBusyPart = 4;  // of a region, one in so many bytes
constexpr int kLongestRest = 31;   // looks

// Of ranges by address, and asked for places by address.
class Count {
 public:
  explicit Count(const std::vector<MemoryRange>& ranges) : at_(ranges.begin()), end_(ranges.end()) {}

  uint64_t bytes(MemoryRange place) {
    const uint64_t place_end = place.address + place.size;
    uint64_t bytes = 0;
    for (; at_ != end_ && at_->address < place_end; ++at_) {
      const uint64_t end = at_->address + at_->size;
      if (end > place.address) bytes += std::min(end, place_end) - std::max(at_->address, place.address);
      if (end > place_end) break;
    }
    return bytes;
  }

 private:
  std::vector<MemoryRange>::const_iterator at_, end_;
};

}  // namespace

void WriteWatch::add(MemoryRange memory) {
  if (!protector_) protector_.emplace(PageScan::make_protector());
  const int protector = protector_->get();
  if (protector < 0 || !PageScan::can_protect(protector, memory)) return;
  // What overlaps it would take what one look protects for what nobody wrote.
  std::erase_if(all_, [&](const auto& other) {
    return other.first < memory.address + memory.size && memory.address < other.first + other.second.size;
  });
  all_.insert_or_assign(memory.address,
                        Watched{memory.size, std::vector<Region>((memory.size + kRegionSize - 1) / kRegionSize)});
}

void WriteWatch::remove(MemoryRange memory) {
  const uint64_t end = memory.address + memory.size;
  for (auto at = all_.lower_bound(memory.address); at != all_.end() && at->first < end; at = all_.erase(at)) {
    PageScan::forget(protector_->get(), {at->first, at->second.size});
  }
}

void WriteWatch::forget() {
  all_.clear();
  protector_.reset();
}

std::vector<MemoryRange> WriteWatch::look() {
  std::vector<MemoryRange> unwritten;
  if (all_.empty()) return unwritten;
  PageScan pages;
  if (!pages.is_open() || protector_->get() < 0) return unwritten;
  for (auto memory = all_.begin(); memory != all_.end();) {
    const bool noted = look_at(pages, memory->first, memory->second, unwritten);
    memory = noted ? std::next(memory) : all_.erase(memory);
  }
  // Asked afterwards: what a device gets from now on, it gets through the page tables, which note it.
  if (!devices_may_write()) return unwritten;
  unwatch_all();
  return {};
}

bool WriteWatch::look_at(const PageScan& pages, uint64_t address, Watched& memory,
                         std::vector<MemoryRange>& unwritten) {
  auto rests = [](Region& region) { return region.rests > 0; };
  for (auto first = memory.regions.begin(); first != memory.regions.end();) {
    if (rests(*first)) {
      --first->rests;
      ++first;
      continue;
    }
    const auto last = std::find_if(first, memory.regions.end(), rests);
    auto place = [&](auto region) {
      return address + std::min(static_cast<uint64_t>(region - memory.regions.begin()) * kRegionSize, memory.size);
    };
    const MemoryRange stretch{place(first), place(last) - place(first)};
    std::vector<MemoryRange> still, written;
    // In this order: what is written between the two is in both.
    if (!pages.add_protected(stretch, still) || !pages.add_written_and_protect(stretch, written)) return false;
    add_blocks(still, written, unwritten);
    rest_where_busy(stretch, address, memory, still, written);
    first = last;
  }
  return true;
}

void WriteWatch::rest_where_busy(MemoryRange stretch, uint64_t address, Watched& memory,
                                 const std::vector<MemoryRange>& still, const std::vector<MemoryRange>& written) const {
  Count in_still(still), in_written(written);
  const uint64_t end = stretch.address + stretch.size;
  for (uint64_t at = stretch.address; at < end; at += kRegionSize) {
    Region& region = memory.regions[(at - address) / kRegionSize];
    const MemoryRange place{at, std::min(kRegionSize, end - at)};
    const uint64_t kept = in_still.bytes(place);
    const uint64_t before = std::exchange(region.watched, kept + in_written.bytes(place));
    if (before == 0) continue;
    if (before <= kept + place.size / kBusyPart) {
      region.next_rest = std::max(region.next_rest - 1, 1);
      continue;
    }
    region.watched = 0;
    region.rests = region.next_rest;
    region.next_rest = std::min(2 * region.next_rest + 1, kLongestRest);
    PageScan::unprotect(protector_->get(), place);
  }
}

void WriteWatch::unwatch_all() {
  for (auto& [address, memory] : all_) {
    PageScan::unprotect(protector_->get(), {address, memory.size});
    for (Region& region : memory.regions) region.watched = 0;
  }
}

}  // namespace mneme::record
