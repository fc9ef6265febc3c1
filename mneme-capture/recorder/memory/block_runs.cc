// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/memory/block_runs.h"

#include <algorithm>

#include "bundle/format.h"

namespace mneme::record {
namespace {

using bundle::kBlockSize;

constexpr uint64_t round_down(uint64_t value, uint64_t step) { return value / step * step; }
constexpr uint64_t round_up(uint64_t value, uint64_t step) { return round_down(value + step - 1, step); }

void add(std::vector<MemoryRange>& runs, uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  if (!runs.empty() && runs.back().address + runs.back().size == begin) {
    runs.back().size += end - begin;
  } else {
    runs.push_back({begin, end - begin});
  }
}

}  // namespace

void add_blocks(const std::vector<MemoryRange>& in, const std::vector<MemoryRange>& out,
                std::vector<MemoryRange>& blocks) {
  auto other = out.begin();
  for (const MemoryRange& range : in) {
    uint64_t at = round_up(range.address, kBlockSize);
    const uint64_t end = round_down(range.address + range.size, kBlockSize);
    while (at < end) {
      while (other != out.end() && other->address + other->size <= at) ++other;
      const bool meets = other != out.end() && other->address < end;
      add(blocks, at, meets ? std::max(at, round_down(other->address, kBlockSize)) : end);
      if (!meets) break;
      at = round_up(other->address + other->size, kBlockSize);
    }
  }
}

}  // namespace mneme::record
