// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bundle/format.h"
#include "verify/elements.h"
#include "verify/layout.h"

namespace mneme::verify {

// How many bytes differ between two pieces of memory of one size.
uint64_t count_differences(Bytes expected, Bytes actual);

// For each segment, how it is read; none: as bytes only.
using Readings = std::vector<std::optional<Reading>>;

// What scaled errors of a segment (its index) are measured by; none: they are not measured. Called for segments that
// are read as elements, once something of them is compared.
using ScaleOf = std::function<std::optional<double>(size_t segment)>;
inline std::optional<double> no_scale(size_t) { return std::nullopt; }

// Gathers, block by block, where memory differs from what is expected, by segment.
class Comparison {
 public:
  // All borrowed, but for `scale_of`; `readings` is empty, or has one for each segment.
  explicit Comparison(const Layout& layout, const Readings& readings = none(), ScaleOf scale_of = no_scale,
                      ElementKernel& kernel = plain_element_kernel())
      : layout_(layout), readings_(readings), scale_of_(std::move(scale_of)), kernel_(kernel) {}

  // The bytes of one block or of several that adjoin, the more at once the quicker; blocks by address, each once. True
  // when a byte of a segment differs. Blocks that do not differ may be left out, but for those that is_torn() at an end
  // where a block that differs adjoins.
  bool add(uint64_t block, Bytes expected, Bytes actual);
  // Whether a byte of a segment differs, of one block.
  bool differs(uint64_t block, Bytes expected, Bytes actual) const;
  // Whether an element lies on both sides of this address, a multiple of kBlockSize.
  bool is_torn(uint64_t address) const;

  // Segments that differ, by address.
  std::vector<bundle::SegmentDifference> differences() const;
  bool equal() const { return differences_.empty(); }
  // Whether a block is missing without which this segment cannot be judged.
  bool lacks_blocks(uint64_t segment_address) const;

 private:
  static const Readings& none();
  // A segment's bytes from an offset on. Returns how many differ.
  uint64_t add_piece(const Piece& piece, Bytes expected, Bytes actual);

  const Layout& layout_;
  const Readings& readings_;
  ScaleOf scale_of_;
  ElementKernel& kernel_;
  std::map<size_t, ElementComparison> elements_;             // by index of the segment
  std::map<size_t, bundle::SegmentDifference> differences_;  // by index of the segment
};

// Gives a comparison its blocks, which come one by one, in pieces large enough for a device to be busy.
class ComparisonInPieces {
 public:
  explicit ComparisonInPieces(Comparison& comparison) : comparison_(comparison) {}

  // As Comparison::add, of one block; copies the bytes.
  void add(uint64_t block, Bytes expected, Bytes actual);
  // Before the comparison is asked for anything.
  void flush();

 private:
  static constexpr size_t kPiece = 2 << 20;  // bytes of either, so that they are still in a cache

  Comparison& comparison_;
  uint64_t address_ = 0;
  std::string expected_, actual_;
};

}  // namespace mneme::verify
