// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/elements.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "verify/compare.h"

namespace mneme::verify {

ElementComparison::ElementComparison(const Reading& reading, uint64_t segment_bytes, std::optional<double> scale,
                                     ElementKernel& kernel)
    : reading_(reading), scale_(scale), kernel_(&kernel), size_(size_of(reading.type)), whole_(segment_bytes / size_) {
  for (const ElementRange& range : reading_.ignored) {
    uint64_t first = std::min(range.first, whole_);
    ignored_ += std::min(range.count, whole_ - first);
  }
}

void ElementComparison::Norms::add(const ErrorSums& chunk) {
  sum.add(chunk.sum);
  root.add(chunk.squares, chunk.scale);
}

bundle::ErrorNorms ElementComparison::Norms::result() const {
  return {std::max(largest, 0.0), sum.value(), root.value(), worst, expected, actual};
}

size_t ElementComparison::ignored_from(uint64_t index) const {
  const auto& ranges = reading_.ignored;
  auto found = std::ranges::partition_point(
      ranges, [&](const ElementRange& range) { return range.first + range.count <= index; });
  return static_cast<size_t>(found - ranges.begin());
}

ElementComparison::Elements ElementComparison::part(const Elements& elements, size_t first, size_t count) const {
  return {elements.first + first, elements.expected.subspan(first * size_, count * size_),
          elements.actual.subspan(first * size_, count * size_)};
}

uint64_t ElementComparison::compare_whole(Elements elements) {
  uint64_t bytes = 0;
  while (!elements.expected.empty()) {
    size_t left = elements.expected.size() / size_;
    size_t taken = whole_chunks(elements) * kChunk;
    if (taken > 0) {
      bytes += compare_chunks(part(elements, 0, taken));
    } else {
      taken = std::min<size_t>(left, kChunk - elements.first % kChunk);
      Elements some = part(elements, 0, taken);
      bytes += count_differences(some.expected, some.actual);
      collect(some);
    }
    elements = part(elements, taken, left - taken);
  }
  return bytes;
}

size_t ElementComparison::whole_chunks(const Elements& elements) const {
  if (elements.first % kChunk != 0) return 0;
  size_t align = is_complex(reading_.type) ? size_ / 2 : size_;
  for (Bytes bytes : {elements.expected, elements.actual}) {
    if (reinterpret_cast<uintptr_t>(bytes.data()) % align != 0) return 0;
  }
  return not_ignored(elements.first, elements.expected.size() / size_) / kChunk;
}

uint64_t ElementComparison::not_ignored(uint64_t first, uint64_t count) const {
  size_t next = ignored_from(first);
  if (next == reading_.ignored.size()) return count;
  return std::min(count, std::max(reading_.ignored[next].first, first) - first);
}

uint64_t ElementComparison::plain_chunks(uint64_t chunk, uint64_t end) const {
  end = std::min(end, whole_ / kChunk);
  return chunk < end ? not_ignored(chunk * kChunk, (end - chunk) * kChunk) / kChunk : 0;
}

uint64_t ElementComparison::compare_chunks(const Elements& chunks) {
  compare_collected();
  const size_t chunk_size = kChunk * size_, count = chunks.expected.size() / chunk_size;
  auto equal = [&](size_t chunk) {
    return std::memcmp(&chunks.expected[chunk * chunk_size], &chunks.actual[chunk * chunk_size], chunk_size) == 0;
  };
  uint64_t bytes = 0;
  std::vector<ChunkErrors> errors;
  for (size_t done = 0; done < count;) {
    if (equal(done)) {
      done++;
      continue;
    }
    size_t end = done + 1;
    while (end < count && !equal(end)) end++;
    errors.resize(end - done);
    compare_differing(part(chunks, done * kChunk, (end - done) * kChunk), errors);
    for (const ChunkErrors& chunk : errors) bytes += chunk.bytes;
    done = end;
  }
  return bytes;
}

uint64_t ElementComparison::add_compared(uint64_t chunk, std::span<const ChunkErrors> errors,
                                         std::span<const ChunkErrors> scaled, const Read& read) {
  compare_collected();
  uint64_t bytes = 0;
  for (const ChunkErrors& errors_of_chunk : errors) {
    bytes += errors_of_chunk.bytes;
    differ_ += errors_of_chunk.differ;
  }
  std::vector<std::byte> expected(kChunk * size_), actual(kChunk * size_);
  // The first of the chunks with the largest error has the worst element.
  auto add = [&](Measure measure, std::span<const ChunkErrors> found, ErrorSums ChunkErrors::* sums, Norms& norms,
                 double ErrorPair::* which) {
    std::optional<size_t> worst;
    for (size_t i = 0; i < found.size(); i++) {
      if (found[i].differ == 0) continue;
      norms.add(found[i].*sums);
      if ((found[i].*sums).largest > (worst ? (found[*worst].*sums).largest : norms.largest)) worst = i;
    }
    if (!worst) return;
    read((chunk + *worst) * kChunk * size_, expected, actual);
    find_worst(norms, measure, which, {(chunk + *worst) * kChunk, expected, actual}, (found[*worst].*sums).largest);
  };
  auto add_both = [&](Measure measure, std::span<const ChunkErrors> found) {
    add(measure, found, &ChunkErrors::first, first_of(measure), &ErrorPair::first);
    add(measure, found, &ChunkErrors::second, second_of(measure), &ErrorPair::second);
  };
  add_both(kPlainMeasure, errors);
  if (scale_) add_both(scale_, scaled);
  return bytes;
}

// Chunks of which each differs; their plain errors are given back.
void ElementComparison::compare_differing(const Elements& chunks, std::span<ChunkErrors> errors) {
  auto measure = [&](Measure measure, std::span<ChunkErrors> out) {
    kernel_->compare(reading_.type, measure, chunks.expected.data(), chunks.actual.data(), out);
    for (size_t i = 0; i < out.size(); i++) take(out[i], measure, part(chunks, i * kChunk, kChunk));
  };
  measure(kPlainMeasure, errors);
  for (const ChunkErrors& chunk : errors) differ_ += chunk.differ;
  if (!scale_) return;
  std::vector<ChunkErrors> scaled(errors.size());
  measure(scale_, scaled);
}

// One chunk's errors.
void ElementComparison::take(const ChunkErrors& chunk, Measure measure, const Elements& elements) {
  if (chunk.differ == 0) return;
  auto add = [&](const ErrorSums& sums, Norms& norms, double ErrorPair::* which) {
    norms.add(sums);
    if (sums.largest > norms.largest) find_worst(norms, measure, which, elements, sums.largest);
  };
  add(chunk.first, first_of(measure), &ErrorPair::first);
  add(chunk.second, second_of(measure), &ErrorPair::second);
}

// The first element of the chunk that has this error.
void ElementComparison::find_worst(Norms& norms, Measure measure, double ErrorPair::* which, const Elements& chunk,
                                   double largest) {
  for (size_t at = 0; at < chunk.expected.size(); at += size_) {
    const std::byte *e = &chunk.expected[at], *r = &chunk.actual[at];
    if (std::memcmp(e, r, size_) == 0 || element_error(reading_.type, measure, e, r).*which != largest) continue;
    norms.largest = largest;
    norms.worst = chunk.first + at / size_;
    norms.expected = text_of(chunk.expected.subspan(at, size_));
    norms.actual = text_of(chunk.actual.subspan(at, size_));
    return;
  }
}

void ElementComparison::collect(const Elements& elements) {
  uint64_t chunk = elements.first / kChunk;
  if (collected_ != chunk) compare_collected();
  collected_ = chunk;
  if (collected_expected_.empty()) {
    collected_expected_.assign(kChunk * size_, '\0');
    collected_actual_.assign(kChunk * size_, '\0');
  }
  size_t at = elements.first % kChunk * size_;
  std::memcpy(&collected_expected_[at], elements.expected.data(), elements.expected.size());
  std::memcpy(&collected_actual_[at], elements.actual.data(), elements.actual.size());
  uint64_t end = elements.first + elements.expected.size() / size_;
  for (size_t i = ignored_from(elements.first); i < reading_.ignored.size() && reading_.ignored[i].first < end; i++) {
    const ElementRange& range = reading_.ignored[i];
    uint64_t from = std::max(range.first, elements.first), count = std::min(end, range.first + range.count) - from;
    size_t ignored = from % kChunk * size_;
    std::memcpy(&collected_actual_[ignored], &collected_expected_[ignored], count * size_);
  }
}

void ElementComparison::compare_collected() {
  if (collected_expected_.empty()) return;
  std::string expected = std::move(collected_expected_), actual = std::move(collected_actual_);
  collected_expected_ = collected_actual_ = {};
  if (expected == actual) return;
  ChunkErrors errors;
  Elements chunk{collected_ * kChunk, bytes_of(expected), bytes_of(actual)};
  compare_differing(chunk, std::span(&errors, 1));
}

bool ElementComparison::pending_differs() const { return pending_expected_ != pending_actual_; }

void ElementComparison::leave_pending() {
  torn_ += pending_differs();
  pending_expected_.clear();
  pending_actual_.clear();
}

uint64_t ElementComparison::torn() const { return torn_ + pending_differs(); }

uint64_t ElementComparison::add(uint64_t offset, Bytes expected, Bytes actual) {
  if (offset != pending_end_) leave_pending();
  uint64_t bytes = 0;
  uint64_t tail = whole_ * size_;  // begins there
  if (offset + expected.size() > tail) {
    size_t before = offset < tail ? tail - offset : 0;
    bytes = count_differences(expected.subspan(before), actual.subspan(before));
    tail_ += bytes;
    expected = expected.first(before);
    actual = actual.first(before);
  }
  pending_end_ = offset + expected.size();

  // The rest of an element that began before this piece.
  if (uint64_t within = offset % size_; within != 0) {
    size_t rest = std::min<size_t>(size_ - within, expected.size());
    bytes += count_differences(expected.first(rest), actual.first(rest));
    pending_expected_ += text_of(expected.first(rest));
    pending_actual_ += text_of(actual.first(rest));
    if (pending_expected_.size() == size_) {
      collect({offset / size_, bytes_of(pending_expected_), bytes_of(pending_actual_)});
      pending_expected_ = pending_actual_ = {};
    }
    offset += rest;
    expected = expected.subspan(rest);
    actual = actual.subspan(rest);
    if (expected.empty()) return bytes;  // it may go on behind this piece, too
  }
  leave_pending();

  size_t whole = expected.size() / size_ * size_;
  bytes += compare_whole({offset / size_, expected.first(whole), actual.first(whole)});
  pending_expected_ = text_of(expected.subspan(whole));
  pending_actual_ = text_of(actual.subspan(whole));
  return bytes + count_differences(expected.subspan(whole), actual.subspan(whole));
}

bundle::Observation ElementComparison::observation() const {
  ElementComparison done = *this;
  done.compare_collected();
  bundle::Observation observation{std::string(name_of(reading_.type)),
                                  whole_ - ignored_,
                                  done.differ_,
                                  tail_,
                                  done.absolute_.result(),
                                  done.relative_.result()};
  if (!scale_) return observation;
  observation.scale = scale_;
  observation.scaled = done.scaled_.result();
  observation.ulps = done.ulps_.result();
  return observation;
}

}  // namespace mneme::verify
