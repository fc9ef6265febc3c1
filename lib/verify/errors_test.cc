// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/errors.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "verify/element_kernel.h"

namespace mneme::verify {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kMax = std::numeric_limits<double>::max();
constexpr double kTiny = std::numeric_limits<double>::denorm_min();

void expect_error(double e, double r, double absolute, double relative) {
  ElementError error = error_between(e, r);
  EXPECT_EQ(error.absolute, absolute) << e << " " << r;
  EXPECT_EQ(error.relative, relative) << e << " " << r;
}

TEST(ErrorBetween, SpecialValues) {
  expect_error(1.5, 1.5, 0, 0);
  expect_error(0.0, -0.0, 0, 0);
  expect_error(kNan, -kNan, 0, 0);
  expect_error(kInfinite, kInfinite, 0, 0);
  expect_error(kNan, 1, kInfinite, kInfinite);
  expect_error(1, kNan, kInfinite, kInfinite);
  expect_error(kInfinite, -kInfinite, kInfinite, kInfinite);
  expect_error(kInfinite, kMax, kInfinite, kInfinite);
  expect_error(kMax, kInfinite, kInfinite, kInfinite);
  expect_error(kNan, kInfinite, kInfinite, kInfinite);
}

TEST(ErrorBetween, AnExpectedZeroHasNoRelativeErrorButNoneOrInfinite) {
  expect_error(0, 1e-300, 1e-300, kInfinite);
  expect_error(-0.0, kTiny, kTiny, kInfinite);
  expect_error(kTiny, 0, kTiny, 1);
  expect_error(kTiny, 3 * kTiny, 2 * kTiny, 2);
}

TEST(ErrorBetween, DifferencesThatAreNoDoubles) {
  expect_error(kMax, -kMax, kInfinite, 2);
  expect_error(-kMax / 2, kMax, kInfinite, 3);
}

TEST(ErrorBetween, AgreesWithLongDouble) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; i++) {
    double e = std::bit_cast<double>(random()), r = i % 2 ? std::bit_cast<double>(random()) : e * (1 + 1e-9 * (i % 97));
    if (!std::isfinite(e) || !std::isfinite(r) || e == 0) continue;
    ElementError error = error_between(e, r);
    long double absolute = std::fabs(static_cast<long double>(r) - e);
    long double relative = absolute / std::fabs(static_cast<long double>(e));
    EXPECT_DOUBLE_EQ(error.absolute, static_cast<double>(absolute)) << e << " " << r;
    // Two roundings: of the difference and of the quotient.
    EXPECT_DOUBLE_EQ(error.relative, static_cast<double>(relative)) << e << " " << r;
  }
}

template <class T>
void expect_integer(T e, T r, double absolute, double relative) {
  ElementError error = error_between(e, r);
  EXPECT_EQ(error.absolute, absolute) << +e << " " << +r;
  EXPECT_EQ(error.relative, relative) << +e << " " << +r;
}

TEST(ErrorBetween, Integers) {
  expect_integer<int64_t>(INT64_MIN, INT64_MAX, 0x1p64, 0x1p64 / 0x1p63);
  expect_integer<int64_t>(INT64_MIN, 0, 0x1p63, 1);
  expect_integer<int64_t>(-1, 1, 2, 2);
  expect_integer<uint64_t>(0, UINT64_MAX, 0x1p64, kInfinite);
  expect_integer<uint64_t>(UINT64_MAX, 0, 0x1p64, 1);
  expect_integer<int8_t>(-128, 127, 255, 255. / 128);
  expect_integer<uint8_t>(255, 0, 255, 1);
  expect_integer<int16_t>(5, 5, 0, 0);
}

TEST(ErrorBetween, IntegersAreRoundedUp) {
  EXPECT_EQ(error_between<uint64_t>(0, (1ull << 53) + 1).absolute, 0x1p53 + 2);
  EXPECT_EQ(error_between<int64_t>(-1, 1ll << 53).absolute, 0x1p53 + 2);
  EXPECT_EQ(error_between<uint64_t>(0, 1ull << 53).absolute, 0x1p53);
}

TEST(ErrorBetween, ComplexNumbers) {
  using C = std::complex<double>;
  ElementError error = error_between(C(3, 4), C(3 + 3, 4 + 4));
  EXPECT_EQ(error.absolute, 5);
  EXPECT_EQ(error.relative, 1);
  EXPECT_EQ(error_between(C(0, -0.0), C(-0.0, 0)).absolute, 0);
  EXPECT_EQ(error_between(C(0, 0), C(0, 1)).relative, kInfinite);
  EXPECT_EQ(error_between(C(kNan, 1), C(kNan, 1)).relative, 0);
  EXPECT_EQ(error_between(C(kNan, 1), C(1, 1)).relative, kInfinite);
  EXPECT_EQ(error_between(C(kInfinite, 1), C(kInfinite, 2)).absolute, 1) << "the infinite parts are equal";
  EXPECT_DOUBLE_EQ(error_between(C(kMax, kMax), C(-kMax, -kMax)).relative, 2);
  EXPECT_DOUBLE_EQ(error_between(C(kMax, kMax), C(kMax, 0)).relative, std::sqrt(0.5));
}

TEST(Sum, TenMillionElements) {
  std::mt19937_64 random(2);
  Sum sum;
  long double reference = 0, correction = 0;
  for (int i = 0; i < 10'000'000; i++) {
    double value = std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 80) - 40);
    sum.add(value);
    long double y = value - correction, t = reference + y;
    correction = (t - reference) - y;
    reference = t;
  }
  EXPECT_EQ(sum.value(), static_cast<double>(reference));
}

TEST(Sum, WhatANaiveSumLoses) {
  Sum sum;
  sum.add(1);
  for (int i = 0; i < 10'000'000; i++) sum.add(1e-16);
  EXPECT_EQ(sum.value(), 1 + 1e-9);
  sum.add(kInfinite);
  sum.add(1);
  EXPECT_EQ(sum.value(), kInfinite);
}

// As a chunk of its own is scaled.
void add(RootOfSquares& root, double value) {
  bool large = value > kLargeError && value < kInfinite, small = value < kSmallError && value > 0;
  double scaled = value * (large ? kLargeScale : small ? kSmallScale : 1);
  root.add(scaled * scaled, large ? kScaledDown : small ? kScaledUp : kPlain);
}

double root_of(const std::vector<double>& values) {
  RootOfSquares root;
  for (double value : values) add(root, value);
  return root.value();
}

TEST(RootOfSquares, SquaresThatAreNoDoubles) {
  EXPECT_EQ(root_of({}), 0);
  EXPECT_EQ(root_of({0, 0}), 0);
  EXPECT_DOUBLE_EQ(root_of({3e200, 4e200}), 5e200);
  EXPECT_DOUBLE_EQ(root_of({3e-200, 4e-200}), 5e-200);
  EXPECT_DOUBLE_EQ(root_of({3e300, 1, 4e300, 1e-300}), 5e300);
  EXPECT_DOUBLE_EQ(root_of({3e-160, 4e-160, 1e-153}), std::hypot(5e-160, 1e-153));
  EXPECT_EQ(root_of({kTiny}), kTiny);
  EXPECT_EQ(root_of({kMax}), kMax);
  EXPECT_EQ(root_of({kMax, kMax}), kInfinite);
  EXPECT_EQ(root_of({1, kInfinite}), kInfinite);
}

TEST(RootOfSquares, TenMillionElements) {
  std::mt19937_64 random(3);
  RootOfSquares root;
  long double reference = 0;
  for (int i = 0; i < 10'000'000; i++) {
    double value = static_cast<double>(random() >> 11) * 0x1p-53;
    add(root, value);
    reference += static_cast<long double>(value) * value;
  }
  EXPECT_DOUBLE_EQ(root.value(), static_cast<double>(std::sqrt(reference)));
}

// ---- scaled errors, and ULPs ----

template <class T>
ErrorPair measured(ElementType type, T e, T r, double scale) {
  EXPECT_EQ(sizeof(T), size_of(type));
  return element_error(type, scale, reinterpret_cast<const std::byte*>(&e), reinterpret_cast<const std::byte*>(&r));
}
double scaled(double e, double r, double scale) { return measured(ElementType::kF64, e, r, scale).first; }
double ulps(float e, float r) { return measured(ElementType::kF32, e, r, 1).second; }
double ulps(double e, double r) { return measured(ElementType::kF64, e, r, 1).second; }

TEST(ScaledErrors, AreByTheLargerOfBoth) {
  EXPECT_EQ(scaled(4, 5, 2), 0.25);
  EXPECT_EQ(scaled(-1, 1, 2), 1);
  EXPECT_EQ(scaled(0, 1, 2), 0.5);
  EXPECT_EQ(scaled(0, -0.0, 0), 0);
  EXPECT_EQ(scaled(0, 5e-324, 0), kInfinite) << "where all that was recorded is 0";
  EXPECT_EQ(scaled(kMax, -kMax, 1), 2) << "the difference is no double";
  EXPECT_EQ(scaled(5e-324, kMax, 5e-324), kInfinite);
}

TEST(ScaledErrors, OfWhatIsNoNumber) {
  EXPECT_EQ(scaled(kNan, kNan, 1), 0);
  EXPECT_EQ(scaled(kInfinite, kInfinite, 1), 0);
  for (double scale : {0.0, 1.0, kMax}) {
    EXPECT_EQ(scaled(1, kNan, scale), kInfinite);
    EXPECT_EQ(scaled(kNan, 1, scale), kInfinite);
    EXPECT_EQ(scaled(1, kInfinite, scale), kInfinite);
    EXPECT_EQ(scaled(-kInfinite, kInfinite, scale), kInfinite);
  }
  EXPECT_EQ(ulps(1.0, kNan), kInfinite);
  EXPECT_EQ(ulps(kMax, kInfinite), kInfinite);
  EXPECT_EQ(ulps(kNan, -kNan), 0);
}

TEST(ScaledErrors, OfOtherTypes) {
  EXPECT_EQ(measured<int32_t>(ElementType::kI32, INT32_MIN, INT32_MAX, 1).first, (0x1p32 - 1) / 0x1p31);
  EXPECT_EQ(measured<uint8_t>(ElementType::kU8, 0, 5, 10).first, 0.5);
  EXPECT_EQ(measured<std::complex<double>>(ElementType::kCF64, {0, 0}, {3, 4}, 10).first, 0.5);
  EXPECT_EQ(measured<std::complex<float>>(ElementType::kCF32, {30, 40}, {33, 44}, 10).first, 0.1);
}

TEST(Ulps, AreStepsFromNumberToNumber) {
  EXPECT_EQ(ulps(1.0f, std::nextafterf(1, 2)), 1);
  EXPECT_EQ(ulps(1.0f, 2.0f), 1 << 23);
  EXPECT_EQ(ulps(std::nextafterf(1, 0), std::nextafterf(1, 2)), 2) << "across a power of two";
  EXPECT_EQ(ulps(0.0f, -0.0f), 0);
  EXPECT_EQ(ulps(-5e-324, 5e-324), 2) << "across zero";
  EXPECT_EQ(ulps(0.0, std::numeric_limits<double>::min()), 0x1p52) << "as many denormals";
  EXPECT_EQ(ulps(-kMax, kMax), 2 * (0x7FEp52 + 0x1p52)) << "rounded up";
  EXPECT_EQ(measured<uint16_t>(ElementType::kF16, 0x0001, 0x8001, 1).second, 2);
  EXPECT_EQ(measured<uint16_t>(ElementType::kBF16, 0x3F80, 0x3F7E, 1).second, 2);
  EXPECT_EQ(measured<int64_t>(ElementType::kI64, -1, 1ll << 53, 1).second, 0x1p53 + 2);
  EXPECT_EQ(measured<std::complex<float>>(ElementType::kCF32, {1, 2}, {1, std::nextafterf(2, 3)}, 1).second, 1)
      << "the more of both parts'";
}

}  // namespace
}  // namespace mneme::verify
