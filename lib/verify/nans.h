// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NaNs: LLVM leaves open what sign and payload an operation gives one, so code may differ in these at each level.
#pragma once
#include <cstdint>

#include "base/digest.h"
#include "verify/element_type.h"

namespace mneme::verify {

struct NanDifferences {
  uint64_t nans = 0;    // elements that are NaN in both, and of which the bits differ
  uint64_t others = 0;  // those that differ in any other way

  // The part of a segment that begins at this offset (bytes), as recorded and as replayed. An element of which another
  // part lies elsewhere counts as different in another way if it differs.
  void add(ElementType type, uint64_t offset, Bytes expected, Bytes actual);
};

// Whether a number of the type may be a NaN.
bool has_nans(ElementType type);

}  // namespace mneme::verify
