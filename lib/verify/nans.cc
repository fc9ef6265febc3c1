// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/nans.h"

#include <algorithm>
#include <cstring>

namespace mneme::verify {
namespace {

struct Format {
  size_t size;        // bytes
  unsigned mantissa;  // bits
};

// Of each component.
Format format_of(ElementType type) {
  switch (type) {
    case ElementType::kF64:
    case ElementType::kCF64:
      return {8, 52};
    case ElementType::kF32:
    case ElementType::kCF32:
      return {4, 23};
    case ElementType::kF16:
      return {2, 10};
    case ElementType::kBF16:
      return {2, 7};
    default:
      return {0, 0};
  }
}

bool is_nan(const Format& format, const std::byte* bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, format.size);
  bits &= ~uint64_t{0} >> (65 - 8 * format.size);  // without the sign
  uint64_t infinity = (~uint64_t{0} >> (65 - 8 * format.size)) >> format.mantissa << format.mantissa;
  return bits > infinity;
}

}  // namespace

bool has_nans(ElementType type) { return format_of(type).size != 0; }

void NanDifferences::add(ElementType type, uint64_t offset, Bytes expected, Bytes actual) {
  const Format format = format_of(type);
  auto differ = [&](size_t at, size_t size) {
    return !std::ranges::equal(expected.subspan(at, size), actual.subspan(at, size));
  };
  if (format.size == 0) {
    others += differ(0, expected.size());
    return;
  }
  size_t at = std::min<size_t>((format.size - offset % format.size) % format.size, expected.size());
  others += differ(0, at);
  for (; expected.size() - at >= format.size; at += format.size) {
    if (!differ(at, format.size)) continue;
    bool both = is_nan(format, expected.data() + at) && is_nan(format, actual.data() + at);
    (both ? nans : others)++;
  }
  others += differ(at, expected.size() - at);
}

}  // namespace mneme::verify
