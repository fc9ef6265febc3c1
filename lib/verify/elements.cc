// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/elements.h"

#include <algorithm>
#include <cstring>

#include "verify/compare.h"
#include "verify/numbers.h"

namespace mneme::verify {

ElementComparison::ElementComparison(const Reading& reading, uint64_t segment_bytes)
    : reading_(reading), size_(size_of(reading.type)), whole_(segment_bytes / size_) {
  for (const ElementRange& range : reading_.ignored) {
    uint64_t first = std::min(range.first, whole_);
    ignored_ += std::min(range.count, whole_ - first);
  }
}

void ElementComparison::Norms::add(double error, uint64_t index, const std::byte* e, const std::byte* r, size_t size) {
  sum.add(error);
  root.add(error);
  if (error <= largest) return;
  largest = error;
  worst = index;
  expected.assign(reinterpret_cast<const char*>(e), size);
  actual.assign(reinterpret_cast<const char*>(r), size);
}

bundle::ErrorNorms ElementComparison::Norms::result() const {
  return {std::max(largest, 0.0), sum.value(), root.value(), worst, expected, actual};
}

bool ElementComparison::is_ignored(uint64_t index) {
  const auto& ranges = reading_.ignored;
  while (next_ignored_ < ranges.size() && ranges[next_ignored_].first + ranges[next_ignored_].count <= index) {
    next_ignored_++;
  }
  return next_ignored_ < ranges.size() && ranges[next_ignored_].first <= index;
}

template <class Format>
void ElementComparison::compare(uint64_t first, Bytes expected, Bytes actual) {
  for (size_t at = 0; at + Format::kSize <= expected.size(); at += Format::kSize) {
    const std::byte *e = &expected[at], *r = &actual[at];
    if (std::memcmp(e, r, Format::kSize) == 0) continue;
    uint64_t index = first + at / Format::kSize;
    if (is_ignored(index)) continue;
    differ_++;
    ElementError error = error_between(Format::read(e), Format::read(r));
    absolute_.add(error.absolute, index, e, r, Format::kSize);
    relative_.add(error.relative, index, e, r, Format::kSize);
  }
}

void ElementComparison::compare_whole(uint64_t first, Bytes expected, Bytes actual) {
  switch (reading_.type) {
    case ElementType::kU8:
      return compare<Integer<uint8_t>>(first, expected, actual);
    case ElementType::kI8:
      return compare<Integer<int8_t>>(first, expected, actual);
    case ElementType::kU16:
      return compare<Integer<uint16_t>>(first, expected, actual);
    case ElementType::kI16:
      return compare<Integer<int16_t>>(first, expected, actual);
    case ElementType::kU32:
      return compare<Integer<uint32_t>>(first, expected, actual);
    case ElementType::kI32:
      return compare<Integer<int32_t>>(first, expected, actual);
    case ElementType::kU64:
      return compare<Integer<uint64_t>>(first, expected, actual);
    case ElementType::kI64:
      return compare<Integer<int64_t>>(first, expected, actual);
    case ElementType::kF16:
      return compare<Half>(first, expected, actual);
    case ElementType::kF32:
      return compare<Floating<float>>(first, expected, actual);
    case ElementType::kF64:
      return compare<Floating<double>>(first, expected, actual);
    case ElementType::kBF16:
      return compare<BrainFloat>(first, expected, actual);
    case ElementType::kCF32:
      return compare<Complex<float>>(first, expected, actual);
    case ElementType::kCF64:
      return compare<Complex<double>>(first, expected, actual);
  }
}

bool ElementComparison::pending_differs() const { return pending_expected_ != pending_actual_; }

void ElementComparison::leave_pending() {
  torn_ += pending_differs();
  pending_expected_.clear();
  pending_actual_.clear();
}

uint64_t ElementComparison::torn() const { return torn_ + pending_differs(); }

void ElementComparison::add(uint64_t offset, Bytes expected, Bytes actual) {
  if (offset != pending_end_) leave_pending();
  uint64_t tail = whole_ * size_;  // begins there
  if (offset + expected.size() > tail) {
    size_t before = offset < tail ? tail - offset : 0;
    tail_ += count_differences(expected.subspan(before), actual.subspan(before));
    expected = expected.first(before);
    actual = actual.first(before);
  }
  pending_end_ = offset + expected.size();

  // The rest of an element that began before this piece.
  if (uint64_t within = offset % size_; within != 0) {
    size_t rest = std::min<size_t>(size_ - within, expected.size());
    pending_expected_ += text_of(expected.first(rest));
    pending_actual_ += text_of(actual.first(rest));
    if (pending_expected_.size() == size_) {
      compare_whole(offset / size_, bytes_of(pending_expected_), bytes_of(pending_actual_));
      pending_expected_ = pending_actual_ = {};
    }
    offset += rest;
    expected = expected.subspan(rest);
    actual = actual.subspan(rest);
    if (expected.empty()) return;  // it may go on behind this piece, too
  }
  leave_pending();

  size_t whole = expected.size() / size_ * size_;
  compare_whole(offset / size_, expected.first(whole), actual.first(whole));
  pending_expected_ = text_of(expected.subspan(whole));
  pending_actual_ = text_of(actual.subspan(whole));
}

bundle::Observation ElementComparison::observation() const {
  return {
      std::string(name_of(reading_.type)), whole_ - ignored_, differ_, tail_, absolute_.result(), relative_.result()};
}

}  // namespace mneme::verify
