// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/blocks/coverage.h"

#include <algorithm>

#include "base/error.h"

namespace mneme::bundle {

void check_coverage(const State& state, std::span<const Segment> segments, const std::string& where) {
  size_t listed = 0;
  uint64_t next = 0;  // the first block that no segment so far lies in
  for (const Segment& segment : segments) {
    uint64_t end = segment.address + segment.size;
    // The list, not the segment's claim, bounds this loop.
    for (uint64_t block = std::max(next, block_of(segment.address)); block < end; block += kBlockSize) {
      if (listed == state.blocks.size() || state.blocks[listed].address != block) {
        throw Error::of("{} does not list block {:#x}, which a segment lies in", where, block);
      }
      ++listed;
      next = block + kBlockSize;
    }
  }
  if (listed != state.blocks.size()) {
    throw Error::of("{} lists block {:#x}, which no segment lies in", where, state.blocks[listed].address);
  }
}

void for_each_part(uint64_t block, std::span<const Segment> segments, const PartFunction& function) {
  auto ends_by = [](const Segment& segment, uint64_t address) { return segment.address + segment.size <= address; };
  auto segment = std::lower_bound(segments.begin(), segments.end(), block, ends_by);
  for (; segment != segments.end() && segment->address < block + kBlockSize; ++segment) {
    uint64_t from = std::max(block, segment->address);
    uint64_t to = std::min(block + kBlockSize, segment->address + segment->size);
    function(*segment, from - block, from - segment->address, to - from);
  }
}

void check_gaps(uint64_t address, Bytes block, std::span<const Segment> segments) {
  uint64_t done = 0;
  auto check_until = [&](uint64_t end) {
    auto gap = block.subspan(done, end - done);
    if (std::all_of(gap.begin(), gap.end(), [](std::byte b) { return b == std::byte{0}; })) return;
    throw Error::of("block {:#x} has bytes that belong to no segment and are not zero", address);
  };
  for_each_part(address, segments, [&](const Segment&, uint64_t block_offset, uint64_t, uint64_t size) {
    check_until(block_offset);
    done = block_offset + size;
  });
  check_until(kBlockSize);
}

std::vector<Digest> cited_blocks(const RunInfo& run) {
  std::vector<Digest> cited;
  for (const BlockDifference& block : run.blocks) cited.insert(cited.end(), {block.expected, block.actual});
  if (run.baseline) {
    for (const VaryingBlock& block : run.baseline->blocks) cited.push_back(block.bytes);
  }
  return cited;
}

std::vector<Digest> cited_blocks(const State& prologue, const State& epilogue) {
  std::vector<Digest> cited;
  cited.reserve(prologue.blocks.size() + epilogue.blocks.size());
  for (const State* state : {&prologue, &epilogue}) {
    for (const BlockReference& block : state->blocks) cited.push_back(block.digest);
  }
  return cited;
}

}  // namespace mneme::bundle
