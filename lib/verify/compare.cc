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
  assert(expected.size() == bundle::kBlockSize && actual.size() == bundle::kBlockSize);
  if (readings_.empty() && std::memcmp(expected.data(), actual.data(), expected.size()) == 0) return false;
  bool differs = false;
  for (const Piece& piece : layout_.pieces(block)) {
    Bytes want = expected.subspan(piece.in_block, piece.size);
    Bytes have = actual.subspan(piece.in_block, piece.size);
    if (!readings_.empty() && readings_[piece.segment]) {
      auto [elements, fresh] =
          elements_.try_emplace(piece.segment, *readings_[piece.segment], layout_.segment(piece.segment).size);
      elements->second.add(piece.in_segment, want, have);
    }
    uint64_t count = count_differences(want, have);
    if (count == 0) continue;
    differs = true;
    auto at = std::mismatch(want.begin(), want.end(), have.begin());
    uint64_t offset = piece.in_segment + static_cast<uint64_t>(at.first - want.begin());
    auto [found, fresh] = differences_.try_emplace(piece.segment);
    bundle::SegmentDifference& difference = found->second;
    if (fresh || offset < difference.first) {
      difference.first = offset;
      difference.expected = std::to_integer<uint32_t>(*at.first);
      difference.actual = std::to_integer<uint32_t>(*at.second);
    }
    difference.address = layout_.segment(piece.segment).address;
    difference.bytes += count;
  }
  return differs;
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

}  // namespace mneme::verify
