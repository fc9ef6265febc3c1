// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/compare.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace mneme::verify {

uint64_t count_differences(Bytes expected, Bytes actual) {
  assert(expected.size() == actual.size());
  uint64_t count = 0;
  // Runs short enough for an 8-bit sum are what the compiler turns into full-width vector code.
  constexpr size_t kRun = 255;
  for (size_t start = 0; start < expected.size(); start += kRun) {
    size_t end = std::min(start + kRun, expected.size());
    uint8_t run = 0;
    for (size_t i = start; i < end; i++) run = static_cast<uint8_t>(run + (expected[i] != actual[i]));
    count += run;
  }
  return count;
}

const Readings& Comparison::none() {
  static const Readings none;
  return none;
}

bool Comparison::is_torn(uint64_t address) const {
  if (readings_.empty()) return false;
  auto pieces = layout_.pieces(address);
  if (pieces.empty() || pieces[0].in_block != 0 || !readings_[pieces[0].segment]) return false;
  return pieces[0].in_segment % size_of(readings_[pieces[0].segment]->type) != 0;
}

bool Comparison::lacks_blocks(uint64_t segment_address) const {
  for (const auto& [segment, elements] : elements_) {
    if (layout_.segment(segment).address == segment_address) return elements.torn() > 0;
  }
  return false;
}

bool Comparison::add(uint64_t block, Bytes expected, Bytes actual) {
  assert(expected.size() % bundle::kBlockSize == 0 && expected.size() == actual.size());
  bool differs = false;
  // A segment's pieces in blocks that adjoin are one.
  std::optional<Piece> open;
  auto close = [&] {
    if (!open) return;
    uint64_t at = open->in_block;
    if (add_piece(*open, expected.subspan(at, open->size), actual.subspan(at, open->size)) > 0) differs = true;
    open.reset();
  };
  for (uint64_t at = 0; at < expected.size(); at += bundle::kBlockSize) {
    for (Piece piece : layout_.pieces(block + at)) {
      piece.in_block += at;
      if (open && open->segment == piece.segment) {
        open->size += piece.size;
        continue;
      }
      close();
      open = piece;
    }
  }
  close();
  return differs;
}

bool Comparison::differs(uint64_t block, Bytes expected, Bytes actual) const {
  return std::ranges::any_of(layout_.pieces(block), [&](const Piece& piece) {
    return std::memcmp(&expected[piece.in_block], &actual[piece.in_block], piece.size) != 0;
  });
}

uint64_t Comparison::add_piece(const Piece& piece, Bytes expected, Bytes actual) {
  uint64_t count;
  if (!readings_.empty() && readings_[piece.segment]) {
    auto elements = elements_.find(piece.segment);
    if (elements == elements_.end()) {
      ElementComparison fresh(*readings_[piece.segment], layout_.segment(piece.segment).size, scale_of_(piece.segment),
                              kernel_);
      elements = elements_.emplace(piece.segment, std::move(fresh)).first;
    }
    count = elements->second.add(piece.in_segment, expected, actual);
  } else {
    bool equal = std::memcmp(expected.data(), actual.data(), expected.size()) == 0;
    count = equal ? 0 : count_differences(expected, actual);
  }
  if (count == 0) return 0;
  auto [found, fresh] = differences_.try_emplace(piece.segment);
  bundle::SegmentDifference& difference = found->second;
  difference.address = layout_.segment(piece.segment).address;
  difference.bytes += count;
  if (fresh || piece.in_segment < difference.first) {
    auto at = std::mismatch(expected.begin(), expected.end(), actual.begin());
    difference.first = piece.in_segment + static_cast<uint64_t>(at.first - expected.begin());
    difference.expected = std::to_integer<uint32_t>(*at.first);
    difference.actual = std::to_integer<uint32_t>(*at.second);
  }
  return count;
}

std::vector<bundle::SegmentDifference> Comparison::differences() const {
  std::vector<bundle::SegmentDifference> out;
  for (const auto& [segment, difference] : differences_) {
    out.push_back(difference);
    auto elements = elements_.find(segment);
    if (elements != elements_.end()) out.back().observation = elements->second.observation();
  }
  return out;
}

void ComparisonInPieces::add(uint64_t block, Bytes expected, Bytes actual) {
  if (block != address_ + expected_.size() || expected_.size() >= kPiece) flush();
  if (expected_.empty()) address_ = block;
  expected_ += text_of(expected);
  actual_ += text_of(actual);
}

void ComparisonInPieces::flush() {
  if (expected_.empty()) return;
  comparison_.add(address_, bytes_of(expected_), bytes_of(actual_));
  expected_.clear();
  actual_.clear();
}

}  // namespace mneme::verify
