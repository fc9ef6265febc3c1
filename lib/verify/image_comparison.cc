// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/image_comparison.h"

#include <algorithm>
#include <optional>

namespace mneme::verify {
namespace {

using bundle::kBlockSize;
using device::BlockChange;

constexpr uint64_t kReadAtOnce = 1 << 20;     // bytes, about
constexpr uint64_t kChunksAtOnce = 64 << 10;  // their results are some MiB
constexpr uint64_t kNear = 16 << 20;          // bytes: to compare as many that are equal takes less than another launch

struct Chunks {
  uint64_t first = 0, end = 0;
};

}  // namespace

ImageComparison::Pair ImageComparison::read(uint64_t address, uint64_t size) {
  Pair pair{std::vector<std::byte>(size), std::vector<std::byte>(size)};
  expected_.read(address, pair.expected);
  memory_.read(address, pair.actual);
  return pair;
}

Range ImageComparison::part(const Range& segment, const BlockChange& change) const {
  uint64_t begin = std::max(segment.address, change.address);
  return {begin, std::min(segment.address + segment.size, change.address + kBlockSize) - begin};
}

std::vector<bundle::SegmentDifference> ImageComparison::differences(Changes changes) {
  std::vector<bundle::SegmentDifference> out;
  for (size_t i = 0; i < layout_.segment_count(); i++) {
    const Range& segment = layout_.segment(i);
    auto first = std::ranges::partition_point(
        changes, [&](const BlockChange& change) { return change.address + kBlockSize <= segment.address; });
    auto end = std::partition_point(first, changes.end(), [&](const BlockChange& change) {
      return change.address < segment.address + segment.size;
    });
    Changes here(first, end);
    if (here.empty()) continue;
    bundle::SegmentDifference difference;
    difference.address = segment.address;
    if (!readings_.empty() && readings_[i]) {
      Read read{segment, readings_[i]->type, scale_of_(i)};
      ElementComparison elements(*readings_[i], segment.size, read.scale, kernel_);
      difference.bytes = compare_elements(read, here, elements);
      difference.observation = elements.observation();
    } else {
      difference.bytes = count_bytes(segment, here);
    }
    if (difference.bytes == 0) continue;
    find_first(segment, here, difference);
    out.push_back(std::move(difference));
  }
  return out;
}

uint64_t ImageComparison::count_bytes(const Range& segment, Changes changes) {
  uint64_t bytes = 0;
  for (const BlockChange& change : changes) {
    Range there = part(segment, change);
    if (there.size == kBlockSize) {
      bytes += change.bytes;
    } else {
      Pair pair = read(there.address, there.size);
      bytes += count_differences(pair.expected, pair.actual);
    }
  }
  return bytes;
}

uint64_t ImageComparison::compare_elements(const Read& read, Changes changes, ElementComparison& elements) {
  const Range& segment = read.range;
  const ElementType type = read.type;
  const uint64_t size = kChunk * size_of(type);
  // Those that have a byte in a changed block.
  std::vector<Chunks> touched;
  for (const BlockChange& change : changes) {
    Range there = part(segment, change);
    uint64_t offset = there.address - segment.address;
    Chunks chunks{offset / size, (offset + there.size + size - 1) / size};
    if (!touched.empty() && chunks.first <= touched.back().end) {
      touched.back().end = chunks.end;
    } else {
      touched.push_back(chunks);
    }
  }
  // The end of the last of those that are near each other.
  std::vector<uint64_t> near(touched.size());
  for (size_t i = touched.size(); i-- > 0;) {
    bool next = i + 1 < touched.size() && (touched[i + 1].first - touched[i].end) * size <= kNear;
    near[i] = next ? near[i + 1] : touched[i].end;
  }
  const bool aligned = segment.address % (is_complex(type) ? size_of(type) / 2 : size_of(type)) == 0;
  auto for_device = [&](uint64_t chunk, uint64_t end) { return aligned ? elements.plain_chunks(chunk, end) : 0; };

  uint64_t bytes = 0, chunk = 0;
  for (size_t i = 0; i < touched.size(); i++) {
    chunk = std::max(chunk, touched[i].first);
    while (chunk < touched[i].end) {
      if (uint64_t count = std::min(for_device(chunk, near[i]), kChunksAtOnce)) {
        bytes += compare_chunks(read, chunk, count, elements);
        chunk += count;
        continue;
      }
      uint64_t begin = chunk * size;
      do {
        chunk++;
      } while (chunk < touched[i].end && chunk * size - begin < kReadAtOnce && for_device(chunk, chunk + 1) == 0);
      Pair pair = this->read(segment.address + begin, std::min(chunk * size, segment.size) - begin);
      bytes += elements.add(begin, pair.expected, pair.actual);
    }
  }
  return bytes;
}

uint64_t ImageComparison::compare_chunks(const Read& segment, uint64_t first, uint64_t count,
                                         ElementComparison& elements) {
  const uint64_t begin = segment.range.address;
  auto measured = [&](Measure measure) {
    std::vector<ChunkErrors> errors(count);
    on_device_.compare(segment.type, measure, expected_, begin + first * kChunk * size_of(segment.type), errors);
    return errors;
  };
  std::vector<ChunkErrors> errors = measured(kPlainMeasure), scaled;
  bool differ = std::ranges::any_of(errors, [](const ChunkErrors& chunk) { return chunk.differ > 0; });
  if (segment.scale && differ) scaled = measured(segment.scale);
  return elements.add_compared(first, errors, scaled,
                               [&](uint64_t offset, std::span<std::byte> expected, std::span<std::byte> actual) {
                                 expected_.read(begin + offset, expected);
                                 memory_.read(begin + offset, actual);
                               });
}

void ImageComparison::find_first(const Range& segment, Changes changes, bundle::SegmentDifference& difference) {
  for (const BlockChange& change : changes) {
    Range there = part(segment, change);
    Pair pair = read(there.address, there.size);
    auto [expected, actual] = std::ranges::mismatch(pair.expected, pair.actual);
    if (expected == pair.expected.end()) continue;
    difference.first = there.address - segment.address + static_cast<uint64_t>(expected - pair.expected.begin());
    difference.expected = std::to_integer<uint32_t>(*expected);
    difference.actual = std::to_integer<uint32_t>(*actual);
    return;
  }
}

}  // namespace mneme::verify
