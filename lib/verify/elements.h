// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "bundle/format.h"
#include "verify/errors.h"
#include "verify/policy.h"

namespace mneme::verify {

// How a segment is read where it is not compared byte for byte only.
struct Reading {
  ElementType type = ElementType::kU8;
  std::vector<ElementRange> ignored = {};  // as Policy has it
};

// Compares a segment element by element. The sums are compensated and in the order of the elements, so the same
// differences give the same bits, whoever computes them.
class ElementComparison {
 public:
  ElementComparison(const Reading& reading, uint64_t segment_bytes);

  // A piece of the segment, as recorded and as replayed; pieces ascend, and what is left out does not differ. An
  // element that lies in two pieces is compared if both are given, one after the other.
  void add(uint64_t offset, Bytes expected, Bytes actual);

  // What all pieces showed.
  bundle::Observation observation() const;
  // Elements of which only a part was given, and differed: nothing can be said of them.
  uint64_t torn() const;

 private:
  struct Norms {
    Sum sum;
    RootOfSquares root;
    double largest = -1;  // none yet
    uint64_t worst = 0;
    std::string expected, actual;

    void add(double error, uint64_t index, const std::byte* e, const std::byte* r, size_t size);
    bundle::ErrorNorms result() const;
  };

  template <class Format>
  void compare(uint64_t first, Bytes expected, Bytes actual);
  void compare_whole(uint64_t first, Bytes expected, Bytes actual);
  bool is_ignored(uint64_t index);
  void leave_pending();
  bool pending_differs() const;

  Reading reading_;
  size_t size_;           // of an element
  uint64_t whole_;        // elements
  uint64_t ignored_ = 0;  // elements
  size_t next_ignored_ = 0;

  // The beginning of an element of which the rest is yet to come.
  uint64_t pending_end_ = 0;  // offset at which the last piece ended
  std::string pending_expected_, pending_actual_;

  uint64_t differ_ = 0, tail_ = 0, torn_ = 0;
  Norms absolute_, relative_;
};

}  // namespace mneme::verify
