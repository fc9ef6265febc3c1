// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/layout.h"

#include <algorithm>

#include "base/error.h"

namespace mneme::verify {

using bundle::kBlockSize;

Layout::Layout(std::span<const bundle::Segment> segments) {
  segments_.reserve(segments.size());
  for (const bundle::Segment& segment : segments) {
    if (segment.size > UINT64_MAX - kBlockSize || segment.address > UINT64_MAX - kBlockSize - segment.size) {
      throw Error::of("the segment at {:#x} of {} bytes does not fit in the address space", segment.address,
                      segment.size);
    }
    if (!segments_.empty() && segment.address < segments_.back().address + segments_.back().size) {
      throw Error::of("the segments at {:#x} and {:#x} overlap or are out of order", segments_.back().address,
                      segment.address);
    }
    segments_.push_back({segment.address, segment.size});
    segment_bytes_ += segment.size;
    if (segment.size == 0) continue;

    uint64_t first = segment.address / kBlockSize * kBlockSize;
    uint64_t end = (segment.address + segment.size + kBlockSize - 1) / kBlockSize * kBlockSize;
    if (!ranges_.empty() && first <= ranges_.back().address + ranges_.back().size) {
      Range& last = ranges_.back();
      uint64_t last_end = std::max(end, last.address + last.size);
      last.size = last_end - last.address;
    } else {
      ranges_.push_back({first, end - first});
    }
  }
  for (const Range& range : ranges_) block_bytes_ += range.size;
}

bool Layout::covers(uint64_t block) const {
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), block,
                                [](uint64_t address, const Range& range) { return address < range.address; });
  return after != ranges_.begin() && block - std::prev(after)->address < std::prev(after)->size;
}

std::vector<Piece> Layout::pieces(uint64_t block) const {
  std::vector<Piece> pieces;
  auto segment = std::partition_point(segments_.begin(), segments_.end(),
                                      [&](const Range& s) { return s.address + s.size <= block; });
  for (; segment != segments_.end() && segment->address < block + kBlockSize; ++segment) {
    uint64_t start = std::max(block, segment->address);
    uint64_t end = std::min(block + kBlockSize, segment->address + segment->size);
    if (start >= end) continue;
    pieces.push_back(
        {static_cast<size_t>(segment - segments_.begin()), start - block, start - segment->address, end - start});
  }
  return pieces;
}

}  // namespace mneme::verify
