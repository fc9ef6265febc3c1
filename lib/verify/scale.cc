// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "verify/element_kernel.h"

namespace mneme::verify {

RootMeanSquare::RootMeanSquare(const Reading& reading, uint64_t segment_bytes)
    : reading_(reading), size_(size_of(reading.type)), whole_(segment_bytes / size_), counts_(whole_) {
  for (const ElementRange& range : reading_.ignored) {
    uint64_t first = std::min(range.first, whole_);
    counts_ -= std::min(range.count, whole_ - first);
  }
}

void RootMeanSquare::add(uint64_t offset, Bytes bytes) {
  bytes = bytes.first(std::min<uint64_t>(bytes.size(), whole_ * size_ - std::min(offset, whole_ * size_)));
  if (bytes.empty()) return;
  if (offset / size_ != pending_at_) complete_pending();
  // The rest of an element that began before, or in what was left out.
  if (size_t within = offset % size_; within != 0) {
    pending_at_ = offset / size_;
    pending_.resize(within, '\0');
    size_t rest = std::min(size_ - within, bytes.size());
    pending_ += text_of(bytes.first(rest));
    if (pending_.size() < size_) return;
    complete_pending();
    offset += rest;
    bytes = bytes.subspan(rest);
  }
  size_t whole = bytes.size() / size_ * size_;
  add_elements(offset / size_, bytes.first(whole));
  pending_at_ = (offset + whole) / size_;
  pending_ = text_of(bytes.subspan(whole));
}

// What is missing of it is zeros.
void RootMeanSquare::complete_pending() {
  if (pending_.empty()) return;
  pending_.resize(size_, '\0');
  add_elements(pending_at_, bytes_of(pending_));
  pending_.clear();
}

void RootMeanSquare::add_elements(uint64_t first, Bytes elements) {
  const uint64_t end = first + elements.size() / size_;
  auto range = std::ranges::partition_point(
      reading_.ignored, [&](const ElementRange& ignored) { return ignored.first + ignored.count <= first; });
  std::array<double, kChunk> values;
  for (uint64_t at = first; at < end;) {
    uint64_t stop = std::min(end, at + kChunk);
    if (range != reading_.ignored.end()) {
      if (range->first <= at) {
        at = std::min(range->first + range->count, end);
        ++range;
        continue;
      }
      stop = std::min(stop, range->first);
    }
    read_magnitudes(reading_.type, &elements[(at - first) * size_], std::span(values).first(stop - at));
    for (size_t i = 0; at < stop; i++, at++) add_element(at, values[i]);
  }
}

void RootMeanSquare::add_element(uint64_t index, double value) {
  if (!std::isfinite(value)) {
    counts_--;
    return;
  }
  if (index / kChunk != chunk_) leave_chunk();
  chunk_ = index / kChunk;
  largest_ = std::max(largest_, value);
  // Squares of these would be no doubles, or lose bits.
  if (value > kLargeError || (value < kSmallError && value > 0)) {
    bool large = value > kLargeError;
    double scaled = value * (large ? kLargeScale : kSmallScale);
    root_.add(scaled * scaled, large ? kScaledDown : kScaledUp);
    return;
  }
  lanes_[index % kLanes] += value * value;
}

void RootMeanSquare::leave_chunk() {
  double sum = 0;
  for (double& lane : lanes_) sum += std::exchange(lane, 0);
  root_.add(sum, kPlain);
}

double RootMeanSquare::value() const {
  RootMeanSquare done = *this;
  done.complete_pending();
  done.leave_chunk();
  if (done.counts_ == 0) return 0;
  // Where the sum is no double, or was rounded up, the largest bounds it.
  return std::min(done.root_.value() / std::sqrt(static_cast<double>(done.counts_)), largest_);
}

}  // namespace mneme::verify
