// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "bundle/format.h"
#include "verify/element_kernel.h"
#include "verify/errors.h"
#include "verify/policy.h"

namespace mneme::verify {

// How a segment is read where it is not compared byte for byte only.
struct Reading {
  ElementType type = ElementType::kU8;
  std::vector<ElementRange> ignored = {};  // as Policy has it
  std::optional<double> scale = {};        // likewise
};

// Compares a segment element by element. The sums are in the order of kernels/chunk.h, so the same differences give the
// same bits, whoever computes them and however the segment is cut into pieces.
class ElementComparison {
 public:
  // `kernel` is borrowed. Without a scale there are no scaled errors, and none in ULPs.
  ElementComparison(const Reading& reading, uint64_t segment_bytes, std::optional<double> scale,
                    ElementKernel& kernel = plain_element_kernel());

  // A piece of the segment, as recorded and as replayed; pieces ascend, and what is left out does not differ. An
  // element that lies in two pieces is compared if both are given, one after the other. Returns how many bytes differ,
  // the ignored ones too.
  uint64_t add(uint64_t offset, Bytes expected, Bytes actual);

  // As add(), of whole chunks from this one on, of which another has found out what differs: `scaled` by the scale, if
  // there is one. `read`: bytes of the segment, as recorded and as replayed.
  using Read = std::function<void(uint64_t offset, std::span<std::byte> expected, std::span<std::byte> actual)>;
  uint64_t add_compared(uint64_t chunk, std::span<const ChunkErrors> errors, std::span<const ChunkErrors> scaled,
                        const Read& read);
  // How many chunks from this one on, before the one at `end`, are whole and have no element that is ignored.
  uint64_t plain_chunks(uint64_t chunk, uint64_t end) const;

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

    void add(const ErrorSums& chunk);
    bundle::ErrorNorms result() const;
  };
  struct Elements {  // whole ones
    uint64_t first = 0;
    Bytes expected, actual;
  };

  uint64_t compare_whole(Elements elements);
  // As many of them as are chunks that can be compared where they lie.
  size_t whole_chunks(const Elements& elements) const;
  uint64_t compare_chunks(const Elements& chunks);
  void compare_differing(const Elements& chunks, std::span<ChunkErrors> errors);
  void take(const ChunkErrors& chunk, Measure measure, const Elements& elements);
  // Into the chunk in hand.
  void collect(const Elements& elements);
  void compare_collected();
  void find_worst(Norms& norms, Measure measure, double ErrorPair::* which, const Elements& chunk, double largest);
  // The first errors that are measured so, and the second.
  Norms& first_of(Measure measure) { return measure ? scaled_ : absolute_; }
  Norms& second_of(Measure measure) { return measure ? ulps_ : relative_; }
  Elements part(const Elements& elements, size_t first, size_t count) const;

  // Of so many elements from this one on, those ahead of the first that is ignored.
  uint64_t not_ignored(uint64_t first, uint64_t count) const;
  // The first range of ignored elements that ends behind this one.
  size_t ignored_from(uint64_t index) const;
  void leave_pending();
  bool pending_differs() const;

  Reading reading_;
  std::optional<double> scale_;
  ElementKernel* kernel_;
  size_t size_;           // of an element
  uint64_t whole_;        // elements
  uint64_t ignored_ = 0;  // elements

  // The beginning of an element of which the rest is yet to come.
  uint64_t pending_end_ = 0;  // offset at which the last piece ended
  std::string pending_expected_, pending_actual_;

  // A chunk that comes in several pieces, or of which a part is ignored; what is missing is zeros. Empty: none.
  uint64_t collected_ = 0;  // its number
  std::string collected_expected_, collected_actual_;

  uint64_t differ_ = 0, tail_ = 0, torn_ = 0;
  Norms absolute_, relative_, scaled_, ulps_;
};

}  // namespace mneme::verify
