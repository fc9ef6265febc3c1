// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/judge/comparing.h"

#include <algorithm>

#include "base/error.h"

namespace mneme::verify {
namespace {

constexpr const char kFirst[] = "first";

// What is wrong may be as fast as it likes.
bool is_comparable(const Row& row) { return row.passed && row.run && !row.run->nanoseconds.empty(); }

// Times of the same clock, in the same circumstances, taken in turn.
bool are_alike(const bundle::RunInfo& a, const bundle::RunInfo& b) {
  return a.device == b.device && a.clock == b.clock && a.cold == b.cold && a.rounds == b.rounds;
}

// The code that the application ran, launched as it launches it.
bool is_recorded(const Row& row) {
  const bundle::Configuration& how = row.configuration;
  return how.passes == bundle::kAsRecorded && !how.grid && !how.block && !how.shared_mem;
}

// The variant that was executed for this row.
const Digest& executed(const Row& row) { return row.run->same_as.empty() ? row.variant : row.run->same_as; }

std::string outcome_of(const Speedup& speedup) {
  if (!speedup.is_told()) return "too few rounds";
  if (speedup.is_faster()) return "faster";
  return speedup.is_slower() ? "slower" : "within noise";
}

TimeComparison comparison_of(const Row& reference, const Row& row) {
  if (&row == &reference) return {reference.variant, "reference", {1, 1, 1, row.run->rounds}};
  if (executed(row) == executed(reference)) return {reference.variant, "same code", {1, 1, 1, row.run->rounds}};
  Speedup found = speedup(reference.run->nanoseconds, row.run->nanoseconds, row.run->rounds);
  return {reference.variant, outcome_of(found), found};
}

}  // namespace

void check_reference(const std::string& reference) {
  bool hash = reference.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (reference == kFirst || reference == kRecordedReference || hash) return;
  throw Error::of("--reference '{}' is neither 'first' nor 'recorded' nor the beginning of a variant's hash",
                  reference);
}

Comparing::Comparing(std::string reference, double bound, Take next)
    : reference_(std::move(reference)), bound_(bound), next_(std::move(next)) {
  check_reference(reference_);
  if (bound_ == 0) return;
  if (reference_.empty()) throw Error("--fail-if-slower needs --reference");
  if (!(bound_ >= 1)) {
    throw Error::of("--fail-if-slower {:g}: give a ratio of at least 1; 1.1 accepts 10 % more time", bound_);
  }
}

const Row* Comparing::reference_of() const {
  auto found =
      reference_ == kFirst ? rows_.begin()
      : reference_ == kRecordedReference
          ? std::ranges::find_if(rows_, is_recorded)
          : std::ranges::find_if(rows_, [&](const Row& row) { return row.variant.hex().starts_with(reference_); });
  if (found == rows_.end() && reference_ == kRecordedReference) {
    found = std::ranges::find_if(
        rows_, [](const Row& row) { return !row.configuration.check_memory && !row.configuration.algebra; });
  }
  return found != rows_.end() && is_comparable(*found) ? &*found : nullptr;
}

void Comparing::compare() {
  const Row* reference = reference_of();
  if (!reference) {
    without_reference_++;
    return;
  }
  for (Row& row : rows_) {
    if (!is_comparable(row)) continue;
    if (are_alike(*row.run, *reference->run)) row.comparison = comparison_of(*reference, row);
    if (bound_ > 0 && &row != reference) hold_against_bound(row);
  }
}

void Comparing::hold_against_bound(Row& row) {
  if (!row.comparison || !row.comparison->speedup.is_told()) {
    unbounded_ += !row.comparison || row.comparison->outcome != "same code";
    bounded_ += row.comparison && row.comparison->outcome == "same code";
    return;
  }
  bounded_++;
  row.comparison->bound = bound_;
  if (!row.comparison->speedup.is_slower_than(bound_)) return;
  row.comparison->outcome = kTooSlow;
  too_slow_++;
}

void Comparing::take(Row row, const std::vector<bundle::Segment>& segments) {
  if (reference_.empty()) return next_(std::move(row), segments);
  if (!rows_.empty() && rows_.front().instance != row.instance) finish();
  if (rows_.empty()) segments_ = segments;
  rows_.push_back(std::move(row));
}

void Comparing::finish() {
  if (rows_.empty()) return;
  compare();
  for (Row& row : rows_) next_(std::move(row), segments_);
  rows_.clear();
}

}  // namespace mneme::verify
