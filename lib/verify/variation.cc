// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/variation.h"

#include <algorithm>
#include <cstring>

namespace mneme::verify {
namespace {

bool any(Bytes bytes) {
  return std::ranges::any_of(bytes, [](std::byte byte) { return byte != std::byte{0}; });
}

uint64_t count_bytes(Bytes expected, Bytes actual, Bytes varies) {
  uint64_t count = 0;
  for (size_t i = 0; i < expected.size(); i++) {
    count += expected[i] != actual[i] && (varies.empty() || varies[i] == std::byte{0});
  }
  return count;
}

bool is_ignored(const Reading& reading, uint64_t index) {
  auto after = std::ranges::upper_bound(reading.ignored, index, {}, &ElementRange::first);
  return after != reading.ignored.begin() && index - std::prev(after)->first < std::prev(after)->count;
}

// Of a piece that lies at `offset` of its segment, in the segment's whole elements.
uint64_t count_elements(const Reading& reading, uint64_t offset, Bytes expected, Bytes actual, Bytes varies) {
  uint64_t count = 0;
  const size_t size = size_of(reading.type);
  for (size_t at = 0; at < expected.size();) {
    size_t part = std::min<size_t>(size - (offset + at) % size, expected.size() - at);
    bool differs = std::memcmp(&expected[at], &actual[at], part) != 0;
    if (differs && (varies.empty() || !any(varies.subspan(at, part))) && !is_ignored(reading, (offset + at) / size)) {
      count++;
    }
    at += part;
  }
  return count;
}

void widen(bundle::ErrorNorms& spread, const bundle::ErrorNorms& norms) {
  bundle::ErrorNorms wider = norms.linf > spread.linf ? norms : spread;
  wider.l1 = std::max(norms.l1, spread.l1);
  wider.l2 = std::max(norms.l2, spread.l2);
  spread = wider;
}

void widen(std::optional<bundle::ErrorNorms>& spread, const std::optional<bundle::ErrorNorms>& norms) {
  if (spread && norms) widen(*spread, *norms);
}

void widen(bundle::SegmentDifference& spread, const bundle::SegmentDifference& difference) {
  const std::optional<uint64_t> steady = std::max(spread.steady, difference.steady);
  if (difference.bytes > spread.bytes) {
    std::optional<bundle::Observation> observation = std::move(spread.observation);
    spread = difference;
    std::swap(spread.observation, observation);
  }
  spread.steady = steady;
  if (!spread.observation || !difference.observation) return;
  bundle::Observation& widest = *spread.observation;
  widest.differ = std::max(widest.differ, difference.observation->differ);
  widest.tail = std::max(widest.tail, difference.observation->tail);
  widen(widest.absolute, difference.observation->absolute);
  widen(widest.relative, difference.observation->relative);
  widen(widest.scaled, difference.observation->scaled);
  widen(widest.ulps, difference.observation->ulps);
}

}  // namespace

void Variation::mark(uint64_t block, Bytes one, Bytes other) {
  std::string& bytes = blocks_.try_emplace(block, bundle::kBlockSize, '\0').first->second;
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] = static_cast<char>(bytes[i] | (one[i] != other[i]));
}

Bytes Variation::at(uint64_t block) const {
  auto found = blocks_.find(block);
  return found == blocks_.end() ? Bytes() : bytes_of(found->second);
}

void SteadyDifferences::add(uint64_t block, Bytes expected, Bytes actual) {
  for (size_t at = 0; at < expected.size(); at += bundle::kBlockSize) {
    add_block(block + at, expected.subspan(at, bundle::kBlockSize), actual.subspan(at, bundle::kBlockSize));
  }
}

void SteadyDifferences::add_block(uint64_t block, Bytes expected, Bytes actual) {
  Bytes varying = variation_.at(block);
  for (const Piece& piece : layout_.pieces(block)) {
    Bytes want = expected.subspan(piece.in_block, piece.size), have = actual.subspan(piece.in_block, piece.size);
    Bytes varies = varying.empty() ? varying : varying.subspan(piece.in_block, piece.size);
    const Range& segment = layout_.segment(piece.segment);
    uint64_t& count = counts_[segment.address];
    size_t elements = 0;  // bytes of the piece that belong to whole ones
    if (!readings_.empty() && readings_[piece.segment]) {
      const Reading& reading = *readings_[piece.segment];
      uint64_t tail = segment.size - segment.size % size_of(reading.type);
      if (piece.in_segment < tail) elements = std::min(tail - piece.in_segment, piece.size);
      count += count_elements(reading, piece.in_segment, want.first(elements), have.first(elements),
                              varies.empty() ? varies : varies.first(elements));
    }
    count +=
        count_bytes(want.subspan(elements), have.subspan(elements), varies.empty() ? varies : varies.subspan(elements));
  }
}

void SteadyDifferences::note_in(std::vector<bundle::SegmentDifference>& differences) const {
  for (bundle::SegmentDifference& difference : differences) {
    auto found = counts_.find(difference.address);
    difference.steady = found == counts_.end() ? 0 : found->second;
  }
}

void widen(std::vector<bundle::SegmentDifference>& spread, const std::vector<bundle::SegmentDifference>& differences) {
  for (const bundle::SegmentDifference& difference : differences) {
    auto at = std::ranges::lower_bound(spread, difference.address, {}, &bundle::SegmentDifference::address);
    if (at != spread.end() && at->address == difference.address) {
      widen(*at, difference);
    } else {
      spread.insert(at, difference);
    }
  }
}

}  // namespace mneme::verify
