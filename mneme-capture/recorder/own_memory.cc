// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/own_memory.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "memory/arena.h"

namespace mneme::record {
namespace {

// Without [begin, end).
std::vector<MemoryRange> without(const std::vector<MemoryRange>& ranges, uint64_t begin, uint64_t end) {
  std::vector<MemoryRange> left;
  for (const MemoryRange& range : ranges) {
    uint64_t range_end = range.address + range.size;
    if (range.address < begin) left.push_back({range.address, std::min(range_end, begin) - range.address});
    uint64_t after = std::max(range.address, end);
    if (after < range_end) left.push_back({after, range_end - after});
  }
  return left;
}

}  // namespace

std::vector<MemoryRange> readable_memory() {
  std::vector<MemoryRange> ranges;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"), std::fclose);
  if (!maps) return ranges;
  char line[8192];
  while (std::fgets(line, sizeof line, maps.get())) {
    unsigned long begin = 0, end = 0;
    char readable = 0;
    if (std::sscanf(line, "%lx-%lx %c", &begin, &end, &readable) != 3 || readable != 'r') continue;
    if (!ranges.empty() && ranges.back().address + ranges.back().size == begin) {
      ranges.back().size += end - begin;
    } else {
      ranges.push_back({begin, end - begin});
    }
  }
  return ranges;
}

std::vector<MemoryRange> ordinary_memory(uint64_t range_size) {
  std::vector<MemoryRange> ranges = readable_memory();
  ranges = without(ranges, memory::kDeviceBase, memory::device_base(memory::kMostDevices, range_size));
  return without(ranges, memory::kHostBase, memory::kHostBase + range_size);
}

}  // namespace mneme::record
