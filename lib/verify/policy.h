// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verify/element_type.h"

namespace mneme::verify {

enum class Kind { kAbsolute, kRelative, kScaled, kUlp };  // of an element's error
enum class Norm {
  kNone,
  kL1,
  kL2,
  kLinf
};  // what is held against the threshold: each error, their sum, the
    // root of the sum of their squares, the largest
// Elements [first, first + count).
struct ElementRange {
  uint64_t first = 0, count = 0;
  bool operator==(const ElementRange&) const = default;
};

// What "right enough" means for a segment.
struct Policy {
  ElementType type = ElementType::kU8;
  double threshold = 0;  // the largest error that passes
  Kind kind = Kind::kAbsolute;
  Norm norm = Norm::kNone;
  std::string tag = {};                    // names the memory in reports
  std::vector<ElementRange> ignored = {};  // ascending, disjoint: not compared at all
  std::optional<double> scale = {};        // of scaled errors; none: the root mean square of what was recorded
};

std::string_view name_of(Kind kind);  // "absolute", "relative", "scaled", "ulp"
std::string_view name_of(Norm norm);  // "none", "l1", "l2", "linf"
// "f64 relative linf <= 1e-06"
std::string to_string(const Policy& policy);

// An annotation as an instance has it (bundle/FORMAT.md). Throws Error; `where` names it in the message.
Policy parse_policy(std::string_view annotation, const std::string& where);

}  // namespace mneme::verify
