// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/own_memory.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
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

struct Mapping {
  char access[5] = "";      // "rw-p": readable, writable, executable; private or shared
  unsigned long inode = 0;  // of what is mapped; 0: nothing
  char name[16] = "";       // as much of it as fits
};

// What is mapped so that `is_meant` says yes.
template <typename IsMeant>
std::vector<MemoryRange> mapped_memory(const IsMeant& is_meant) {
  std::vector<MemoryRange> ranges;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"), std::fclose);
  if (!maps) return ranges;
  char line[8192];
  while (std::fgets(line, sizeof line, maps.get())) {
    unsigned long begin = 0, end = 0;
    Mapping mapping;
    if (std::sscanf(line, "%lx-%lx %4s %*s %*s %lu %15s", &begin, &end, mapping.access, &mapping.inode, mapping.name) <
        4)
      continue;
    if (!is_meant(mapping)) continue;
    if (!ranges.empty() && ranges.back().address + ranges.back().size == begin) {
      ranges.back().size += end - begin;
    } else {
      ranges.push_back({begin, end - begin});
    }
  }
  return ranges;
}

}  // namespace

std::vector<MemoryRange> readable_memory() {
  return mapped_memory([](const Mapping& mapping) { return mapping.access[0] == 'r'; });
}

std::vector<MemoryRange> memory_of_its_own() {
  return mapped_memory([](const Mapping& mapping) {
    return mapping.access[0] == 'r' && mapping.access[3] == 'p' && mapping.inode == 0 &&
           std::strcmp(mapping.name, "[stack]") != 0;
  });
}

std::vector<MemoryRange> ordinary_memory(uint64_t range_size) {
  std::vector<MemoryRange> ranges = readable_memory();
  ranges = without(ranges, memory::kDeviceBase, memory::device_base(memory::kMostDevices, range_size));
  return without(ranges, memory::kHostBase, memory::kHostBase + range_size);
}

}  // namespace mneme::record
