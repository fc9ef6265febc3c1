// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/nans.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace mneme::verify {
namespace {

template <class T>
Bytes bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

TEST(Nans, OfEachType) {
  auto differences = [](ElementType type, const auto& expected, const auto& actual, uint64_t offset = 0) {
    NanDifferences found;
    found.add(type, offset, bytes(expected), bytes(actual));
    return std::pair(found.nans, found.others);
  };
  using Words = std::vector<uint32_t>;
  using Found = std::pair<uint64_t, uint64_t>;
  Words expected = {0x7fc00000, 0x7f800001, 0x3f800000, 0xffc00000}, actual = expected;
  EXPECT_EQ(differences(ElementType::kF32, expected, actual), (Found{0, 0}));
  actual[0] = 0xffc00001;
  actual[1] = 0x7fc00000;
  EXPECT_EQ(differences(ElementType::kF32, expected, actual), (Found{2, 0}));
  EXPECT_EQ(differences(ElementType::kCF32, expected, actual), (Found{2, 0}));
  EXPECT_EQ(differences(ElementType::kI32, expected, actual), (Found{0, 1}));
  // A NaN against an infinity or a number, and zeros of either sign.
  for (uint32_t other : {0x7f800000u, 0xff800000u, 0x00000000u, 0x3f800000u}) {
    EXPECT_EQ(differences(ElementType::kF32, Words{0x7fc00000}, Words{other}), (Found{0, 1})) << other;
  }
  EXPECT_EQ(differences(ElementType::kF32, Words{0}, Words{0x80000000}), (Found{0, 1}));
  // Halves of an element.
  EXPECT_EQ(differences(ElementType::kF32, expected, actual, 2), (Found{0, 3}));

  using Longs = std::vector<uint64_t>;
  EXPECT_EQ(differences(ElementType::kF64, Longs{0x7ff8000000000000}, Longs{0xfff8000000000001}), (Found{1, 0}));
  EXPECT_EQ(differences(ElementType::kF64, Longs{0x7ff0000000000000}, Longs{0xfff8000000000001}), (Found{0, 1}));
  using Shorts = std::vector<uint16_t>;
  EXPECT_EQ(differences(ElementType::kF16, Shorts{0x7e00, 0x7c00}, Shorts{0xfe00, 0x7c00}), (Found{1, 0}));
  EXPECT_EQ(differences(ElementType::kF16, Shorts{0x7c00}, Shorts{0x7e00}), (Found{0, 1}));
  EXPECT_EQ(differences(ElementType::kBF16, Shorts{0x7fc0}, Shorts{0xffc1}), (Found{1, 0}));
}

}  // namespace
}  // namespace mneme::verify
