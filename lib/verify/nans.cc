// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/nans.h"

#include <algorithm>
#include <cmath>

#include "verify/numbers.h"

namespace mneme::verify {

bool has_nans(ElementType type) {
  return with_part_format(type, [](auto part) { return !part.kIsInteger; });
}

void NanDifferences::add(ElementType type, uint64_t offset, Bytes expected, Bytes actual) {
  auto differ = [&](size_t at, size_t size) {
    return !std::ranges::equal(expected.subspan(at, size), actual.subspan(at, size));
  };
  with_part_format(type, [&](auto part) {
    constexpr size_t kSize = decltype(part)::kSize;
    if constexpr (part.kIsInteger) {
      others += differ(0, expected.size());
    } else {
      size_t at = std::min<size_t>((kSize - offset % kSize) % kSize, expected.size());
      others += differ(0, at);
      for (; expected.size() - at >= kSize; at += kSize) {
        if (!differ(at, kSize)) continue;
        bool both = std::isnan(part.read(expected.data() + at)) && std::isnan(part.read(actual.data() + at));
        (both ? nans : others)++;
      }
      others += differ(at, expected.size() - at);
    }
  });
}

}  // namespace mneme::verify
