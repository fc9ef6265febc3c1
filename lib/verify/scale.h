// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <string>

#include "verify/elements.h"

namespace mneme::verify {

// The root mean square of a segment's elements: what scaled errors are measured by. In one pass, and the same bits
// however the segment is cut into pieces. Elements that are ignored, infinite or NaN do not count; of a complex number
// the modulus does.
class RootMeanSquare {
 public:
  RootMeanSquare(const Reading& reading, uint64_t segment_bytes);

  // A piece of the segment; pieces ascend, and what is left out is zeros.
  void add(uint64_t offset, Bytes bytes);
  // Finite, and at most the largest element; 0 where no element counts.
  double value() const;

 private:
  void complete_pending();
  void add_elements(uint64_t first, Bytes elements);
  void add_element(uint64_t index, double value);
  void leave_chunk();

  Reading reading_;
  size_t size_;      // of an element
  uint64_t whole_;   // elements
  uint64_t counts_;  // those that do
  double largest_ = 0;

  // Of the chunk in hand: lane by lane, as errors are added up (kernels/chunk.h).
  uint64_t chunk_ = 0;
  double lanes_[kLanes] = {};
  RootOfSquares root_;

  // The beginning of an element of which the rest is yet to come.
  uint64_t pending_at_ = 0;
  std::string pending_;
};

}  // namespace mneme::verify
