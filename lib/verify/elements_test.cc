// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/elements.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace mneme::verify {
namespace {

template <class T>
std::string bytes_of_values(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

constexpr double kScale = 3.5;

bundle::Observation observe(const Reading& reading, const std::string& expected, const std::string& actual) {
  ElementComparison comparison(reading, expected.size(), kScale);
  comparison.add(0, bytes_of(expected), bytes_of(actual));
  EXPECT_EQ(comparison.torn(), 0u);
  return comparison.observation();
}

TEST(Elements, NormsOfDoubles) {
  auto seen =
      observe({ElementType::kF64}, bytes_of_values<double>({1, 2, 4, 8}), bytes_of_values<double>({1, 5, 0, 8}));
  EXPECT_EQ(seen.type, "f64");
  EXPECT_EQ(seen.elements, 4u);
  EXPECT_EQ(seen.differ, 2u);
  EXPECT_EQ(seen.absolute.linf, 4);
  EXPECT_EQ(seen.absolute.l1, 7);
  EXPECT_EQ(seen.absolute.l2, 5);
  EXPECT_EQ(seen.absolute.worst, 2u);
  EXPECT_EQ(seen.relative.linf, 1.5);
  EXPECT_EQ(seen.relative.l1, 2.5);
  EXPECT_EQ(seen.relative.worst, 1u);
  EXPECT_EQ(element_text(ElementType::kF64, bytes_of(seen.relative.expected)), "2");
  EXPECT_EQ(element_text(ElementType::kF64, bytes_of(seen.relative.actual)), "5");
}

TEST(Elements, EveryTypeReadsItsOwn) {
  auto worst = [](ElementType type, const std::string& e, const std::string& r) {
    auto seen = observe({type}, e, r);
    return std::tuple(seen.elements, seen.absolute.linf, element_text(type, bytes_of(seen.absolute.actual)));
  };
  using Worst = std::tuple<uint64_t, double, std::string>;
  EXPECT_EQ(worst(ElementType::kU8, bytes_of_values<uint8_t>({0, 1}), bytes_of_values<uint8_t>({255, 1})),
            Worst(2, 255, "255"));
  EXPECT_EQ(worst(ElementType::kI8, bytes_of_values<int8_t>({0}), bytes_of_values<int8_t>({-1})), Worst(1, 1, "-1"));
  EXPECT_EQ(worst(ElementType::kU16, bytes_of_values<uint16_t>({0}), bytes_of_values<uint16_t>({65535})),
            Worst(1, 65535, "65535"));
  EXPECT_EQ(worst(ElementType::kI16, bytes_of_values<int16_t>({0}), bytes_of_values<int16_t>({-2})), Worst(1, 2, "-2"));
  EXPECT_EQ(worst(ElementType::kU32, bytes_of_values<uint32_t>({0}), bytes_of_values<uint32_t>({UINT32_MAX})),
            Worst(1, 4294967295., "4294967295"));
  EXPECT_EQ(worst(ElementType::kI32, bytes_of_values<int32_t>({INT32_MAX}), bytes_of_values<int32_t>({INT32_MIN})),
            Worst(1, 4294967295., "-2147483648"));
  EXPECT_EQ(worst(ElementType::kU64, bytes_of_values<uint64_t>({0}), bytes_of_values<uint64_t>({1})), Worst(1, 1, "1"));
  EXPECT_EQ(worst(ElementType::kI64, bytes_of_values<int64_t>({INT64_MIN}), bytes_of_values<int64_t>({INT64_MAX})),
            Worst(1, 0x1p64, "9223372036854775807"));
  EXPECT_EQ(worst(ElementType::kF16, bytes_of_values<_Float16>({1}), bytes_of_values<_Float16>({1.5})),
            Worst(1, 0.5, "1.5"));
  EXPECT_EQ(worst(ElementType::kF32, bytes_of_values<float>({1}), bytes_of_values<float>({-2})), Worst(1, 3, "-2"));
  EXPECT_EQ(worst(ElementType::kBF16, bytes_of_values<uint16_t>({0x3F80}), bytes_of_values<uint16_t>({0xC000})),
            Worst(1, 3, "-2"));
  EXPECT_EQ(worst(ElementType::kCF32, bytes_of_values<float>({1, 1}), bytes_of_values<float>({4, 5})),
            Worst(1, 5, "(4, 5)"));
  EXPECT_EQ(worst(ElementType::kCF64, bytes_of_values<double>({1, 1}), bytes_of_values<double>({4, 5})),
            Worst(1, 5, "(4, 5)"));
}

TEST(Elements, DifferentBytesMayBeNoError) {
  auto seen = observe({ElementType::kF32}, bytes_of_values<float>({0.0f}), bytes_of_values<float>({-0.0f}));
  EXPECT_EQ(seen.differ, 1u);
  EXPECT_EQ(seen.absolute.linf, 0);
  EXPECT_EQ(seen.relative.linf, 0);
}

TEST(Elements, WhatIsIgnoredIsNotCompared) {
  std::vector<int32_t> e(100), r(100, 1);
  auto seen = observe({ElementType::kI32, {{0, 10}, {20, 30}, {90, 1000}}}, bytes_of_values(e), bytes_of_values(r));
  EXPECT_EQ(seen.elements, 50u);
  EXPECT_EQ(seen.differ, 50u);
  EXPECT_EQ(seen.absolute.l1, 50);
  EXPECT_EQ(seen.absolute.worst, 10u);
}

TEST(Elements, ScaledErrorsAndUlps) {
  std::string e = bytes_of_values<float>({-1.49e-7f, 7, 0, 1}), r = bytes_of_values<float>({-1.19e-7f, 14, 0, 1});
  auto seen = observe({ElementType::kF32}, e, r);
  EXPECT_EQ(seen.scale, kScale);
  ASSERT_TRUE(seen.scaled && seen.ulps);
  EXPECT_EQ(seen.scaled->linf, 1);
  EXPECT_EQ(seen.scaled->worst, 1u);
  EXPECT_NEAR(seen.scaled->l1, 1 + 3e-8 / kScale, 1e-14);
  EXPECT_EQ(seen.ulps->linf, 1 << 23);
  EXPECT_EQ(element_text(ElementType::kF32, bytes_of(seen.ulps->actual)), "14");
  ElementComparison without({ElementType::kF32}, e.size(), std::nullopt);
  without.add(0, bytes_of(e), bytes_of(r));
  EXPECT_FALSE(without.observation().scale || without.observation().scaled || without.observation().ulps);
}

TEST(Elements, BytesBehindTheLastElement) {
  std::string e(11, '\0'), r = e;
  r[8] = r[10] = 1;
  auto seen = observe({ElementType::kF64}, e, r);
  EXPECT_EQ(seen.elements, 1u);
  EXPECT_EQ(seen.differ, 0u);
  EXPECT_EQ(seen.tail, 2u);
}

TEST(Elements, PiecesCutAnywhereGiveTheSame) {
  std::mt19937 random(4);
  for (ElementType type :
       {ElementType::kU8, ElementType::kI16, ElementType::kF32, ElementType::kF64, ElementType::kCF64}) {
    for (size_t size : {7, 16, 31, 160, 1003}) {
      std::string e(size, '\0'), r;
      for (char& c : e) c = static_cast<char>(random() % 64);
      r = e;
      for (char& c : r) c = random() % 3 ? c : static_cast<char>(random() % 64);
      Reading reading{type, {{3, 2}}};
      bundle::Observation whole = observe(reading, e, r);
      for (int round = 0; round < 20; round++) {
        ElementComparison pieces(reading, size, kScale);
        for (size_t at = 0; at < size;) {
          size_t length = std::min<size_t>(1 + random() % 40, size - at);
          pieces.add(at, bytes_of(e).subspan(at, length), bytes_of(r).subspan(at, length));
          at += length;
        }
        EXPECT_EQ(pieces.torn(), 0u);
        EXPECT_EQ(pieces.observation(), whole) << name_of(type) << " " << size;
      }
    }
  }
}

TEST(Elements, TornElementsAreCounted) {
  std::string e(64, '\0'), r(64, 1);
  ElementComparison comparison({ElementType::kF64}, 64, std::nullopt);
  comparison.add(4, bytes_of(e).first(16), bytes_of(r).first(16));  // the halves of two, and a whole one
  comparison.add(40, bytes_of(e).first(8), bytes_of(e).first(8));
  EXPECT_EQ(comparison.torn(), 2u);
  EXPECT_EQ(comparison.observation().differ, 1u);
  comparison.add(60, bytes_of(e).first(2), bytes_of(r).first(2));
  EXPECT_EQ(comparison.torn(), 3u);
}

TEST(ElementType, NamesThereAndBack) {
  for (int i = 0; i <= static_cast<int>(ElementType::kCF64); i++) {
    auto type = static_cast<ElementType>(i);
    EXPECT_EQ(element_type(name_of(type)), type);
  }
  EXPECT_EQ(element_type("f80"), std::nullopt);
  EXPECT_EQ(element_text(ElementType::kF32, bytes_of(std::string("ab"))), "6162");
  EXPECT_EQ(element_text(ElementType::kF64, bytes_of(bytes_of_values<double>({0.1}))), "0.10000000000000001");
}

}  // namespace
}  // namespace mneme::verify
