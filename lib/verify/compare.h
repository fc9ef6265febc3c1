// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <vector>

#include "bundle/format.h"
#include "verify/layout.h"

namespace mneme::verify {

// How many bytes differ between two pieces of memory of one size.
uint64_t count_differences(Bytes expected, Bytes actual);

// Gathers, block by block, where memory differs from what is expected, by segment.
class Comparison {
 public:
  explicit Comparison(const Layout& layout) : layout_(layout) {}  // borrowed

  // One block's bytes, kBlockSize each; blocks in any order. True when a byte of a segment differs.
  bool add(uint64_t block, Bytes expected, Bytes actual);

  // Segments that differ, by address.
  std::vector<bundle::SegmentDifference> differences() const;
  bool equal() const { return differences_.empty(); }

 private:
  const Layout& layout_;
  std::map<size_t, bundle::SegmentDifference> differences_;  // by index of the segment
};

}  // namespace mneme::verify
