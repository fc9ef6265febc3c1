// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "outside_references.h"

#include <algorithm>
#include <cstring>

namespace mneme::capture {
namespace {

constexpr uint64_t kWord = sizeof(uint64_t);

// Calls `take(address, word)` for each whole word of a segment's.
template <class Take>
void for_words(const bundle::Segment& segment, const Snapshot& memory, const Take& take) {
  uint64_t first = (segment.address + kWord - 1) / kWord * kWord, end = segment.address + segment.size;
  Bytes block;
  for (uint64_t at = first; at + kWord <= end; at += kWord) {
    uint64_t offset = at % bundle::kBlockSize;
    if (block.empty() || offset == 0) block = memory.block(at - offset);
    uint64_t word = 0;
    std::memcpy(&word, block.data() + offset, kWord);
    take(at, word);
  }
}

}  // namespace

std::vector<std::string> references_to(const std::vector<record::OutsideMemory>& outside,
                                       const std::vector<bundle::Segment>& segments, const Snapshot& memory) {
  std::vector<std::string> sentences;
  if (outside.empty()) return sentences;
  std::vector<bool> named(outside.size());
  uint64_t lowest = outside.front().address, span = outside.back().address + outside.back().size - lowest;
  for (const bundle::Segment& segment : segments) {
    for_words(segment, memory, [&](uint64_t at, uint64_t word) {
      if (word - lowest >= span) return;
      auto after = std::ranges::upper_bound(outside, word, {}, &record::OutsideMemory::address);
      const record::OutsideMemory& piece = *std::prev(after);  // the lowest one begins at or before the word
      auto index = static_cast<size_t>(&piece - outside.data());
      if (word - piece.address >= piece.size || named[index]) return;
      named[index] = true;
      sentences.push_back(fmt::format("the memory at {:#x} holds the address {:#x}, {}", at, word, piece.reason));
    });
  }
  return sentences;
}

}  // namespace mneme::capture
