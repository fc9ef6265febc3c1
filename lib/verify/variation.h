// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What varies by itself: memory that is not the same after every execution of the same code.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "bundle/format.h"
#include "verify/compare.h"
#include "verify/layout.h"

namespace mneme::verify {

// The bytes that vary, block by block.
class Variation {
 public:
  // Marks the bytes that differ between two executions; a block's bytes each.
  void mark(uint64_t block, Bytes one, Bytes other);
  // A block as it is stored (bundle/format.h's VaryingBlock).
  void set(uint64_t block, Bytes bytes) { blocks_.insert_or_assign(block, std::string(text_of(bytes))); }
  // kBlockSize bytes, 1 for one that varies; empty where none of the block does.
  Bytes at(uint64_t block) const;
  const std::map<uint64_t, std::string>& blocks() const { return blocks_; }

 private:
  std::map<uint64_t, std::string> blocks_;
};

// Counts for each segment what differs although it does not vary: elements, of which no byte varies, where the
// segment is read as elements, else bytes. Of an element that lies in two blocks each part counts by itself.
class SteadyDifferences {
 public:
  // All borrowed.
  SteadyDifferences(const Layout& layout, const Readings& readings, const Variation& variation)
      : layout_(layout), readings_(readings), variation_(variation) {}

  // The bytes of a block, or of several that adjoin; each that differs once.
  void add(uint64_t block, Bytes expected, Bytes actual);
  // Completes what Comparison found in the same blocks.
  void note_in(std::vector<bundle::SegmentDifference>& differences) const;

 private:
  void add_block(uint64_t block, Bytes expected, Bytes actual);

  const Layout& layout_;
  const Readings& readings_;
  const Variation& variation_;
  std::map<uint64_t, uint64_t> counts_;  // by the segment's address
};

// Makes every figure of `spread`, segment by segment, at least what it is in `differences`.
void widen(std::vector<bundle::SegmentDifference>& spread, const std::vector<bundle::SegmentDifference>& differences);

}  // namespace mneme::verify
