// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "replay/judge/report.h"

namespace mneme::verify {

// The application's own code (passes "as recorded", launched as recorded), or where no row is of that the first.
inline constexpr char kRecordedReference[] = "recorded";

// Throws Error unless it is one that Comparing takes.
void check_reference(const std::string& reference);

// Compares the rows of each instance with one among them, as they stream by.
class Comparing {
 public:
  using Take = std::function<void(Row, const std::vector<bundle::Segment>&)>;

  // `reference` is "first", kRecordedReference, or how the hash of a variant begins; empty: rows pass as they come.
  // Others may take `bound` times as long as it, at least 1; 0: as long as they like. Throws Error of what is none of
  // that.
  Comparing(std::string reference, double bound, Take next);

  // All rows of an instance one after the other, with its segments.
  void take(Row row, const std::vector<bundle::Segment>& segments);
  // After the last one.
  void finish();
  // Instances whose reference has no times to compare with.
  uint64_t without_reference() const { return without_reference_; }
  // Of what was compared: how many are beyond the bound, and how many could be, as far as their times tell.
  uint64_t too_slow() const { return too_slow_; }
  uint64_t bounded() const { return bounded_; }
  // Verified runs of which the times cannot be held against the bound.
  uint64_t unbounded() const { return unbounded_; }

 private:
  const Row* reference_of() const;
  void compare();
  void hold_against_bound(Row& row);

  std::string reference_;
  double bound_;
  Take next_;
  std::vector<Row> rows_;  // of one instance
  std::vector<bundle::Segment> segments_;
  uint64_t without_reference_ = 0, too_slow_ = 0, bounded_ = 0, unbounded_ = 0;
};

}  // namespace mneme::verify
