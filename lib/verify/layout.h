// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "bundle/format.h"

namespace mneme::verify {

struct Range {
  uint64_t address = 0;
  uint64_t size = 0;  // bytes
  bool operator==(const Range&) const = default;
};

// The part of a segment that lies in one block.
struct Piece {
  size_t segment = 0;       // index
  uint64_t in_block = 0;    // where it starts, in the block
  uint64_t in_segment = 0;  // and in the segment
  uint64_t size = 0;        // bytes
};

// How an instance's segments lie in blocks. What is restored is whole blocks; what is compared is only the bytes
// that belong to a segment.
class Layout {
 public:
  // `segments` by address, disjoint, none past the end of the address space: else throws Error. They are copied as
  // far as they are needed.
  explicit Layout(std::span<const bundle::Segment> segments);

  // The blocks that segments touch, adjoining ones merged, ascending.
  const std::vector<Range>& ranges() const { return ranges_; }
  bool covers(uint64_t block) const;
  uint64_t segment_bytes() const { return segment_bytes_; }
  uint64_t block_bytes() const { return block_bytes_; }
  size_t segment_count() const { return segments_.size(); }
  const Range& segment(size_t index) const { return segments_[index]; }

  // The segments' parts in the block at this address, ascending.
  std::vector<Piece> pieces(uint64_t block) const;

 private:
  std::vector<Range> segments_;
  std::vector<Range> ranges_;
  uint64_t segment_bytes_ = 0;
  uint64_t block_bytes_ = 0;
};

}  // namespace mneme::verify
