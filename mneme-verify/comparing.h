// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "report.h"

namespace mneme::verify {

// Compares the rows of each instance with one among them, as they stream by.
class Comparing {
 public:
  using Take = std::function<void(Row, const std::vector<bundle::Segment>&)>;

  // `reference` is "first", or how the hash of a variant begins; empty: rows pass as they come. Throws Error of a text
  // that is neither.
  Comparing(std::string reference, Take next);

  // All rows of an instance one after the other, with its segments.
  void take(Row row, const std::vector<bundle::Segment>& segments);
  // After the last one.
  void finish();
  // Instances whose reference has no times to compare with.
  uint64_t without_reference() const { return without_reference_; }

 private:
  const Row* reference_of() const;
  void compare();

  std::string reference_;
  Take next_;
  std::vector<Row> rows_;  // of one instance
  std::vector<bundle::Segment> segments_;
  uint64_t without_reference_ = 0;
};

}  // namespace mneme::verify
