// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace mneme::verify {
namespace {

template <class T>
std::string bytes_from(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

double scale(const Reading& reading, const std::string& bytes) {
  RootMeanSquare root(reading, bytes.size());
  root.add(0, bytes_of(bytes));
  return root.value();
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kMost = std::numeric_limits<double>::max();

TEST(RootMeanSquare, OfEveryType) {
  EXPECT_DOUBLE_EQ(scale({ElementType::kF64}, bytes_from<double>({3, -4, 0, 0})), 2.5);
  EXPECT_DOUBLE_EQ(scale({ElementType::kF32}, bytes_from<float>({3, -4, 0, 0})), 2.5);
  EXPECT_DOUBLE_EQ(scale({ElementType::kF16}, bytes_from<_Float16>({3, -4, 0, 0})), 2.5);
  EXPECT_DOUBLE_EQ(scale({ElementType::kBF16}, bytes_from<uint16_t>({0x4040, 0xC080, 0, 0x8000})), 2.5);
  EXPECT_DOUBLE_EQ(scale({ElementType::kI8}, bytes_from<int8_t>({3, -4, 0, 0})), 2.5);
  EXPECT_DOUBLE_EQ(scale({ElementType::kU64}, bytes_from<uint64_t>({1ull << 63})), 0x1p63);
  EXPECT_DOUBLE_EQ(scale({ElementType::kI64}, bytes_from<int64_t>({INT64_MIN})), 0x1p63);
  EXPECT_DOUBLE_EQ(scale({ElementType::kCF32}, bytes_from<float>({3, -4, 0, 0})), 5 / std::sqrt(2));
  EXPECT_DOUBLE_EQ(scale({ElementType::kCF64}, bytes_from<double>({3, -4, 0, 0})), 5 / std::sqrt(2));
}

TEST(RootMeanSquare, OfWhatIsFiniteAndNotIgnored) {
  EXPECT_DOUBLE_EQ(scale({ElementType::kF64}, bytes_from<double>({3, kNan, -4, kInfinite, 0, -kInfinite, 0})), 2.5);
  EXPECT_DOUBLE_EQ(scale({ElementType::kF64, {{1, 1}, {3, 2}}}, bytes_from<double>({3, 100, -4, 100, 100, 0, 0})), 2.5);
  EXPECT_DOUBLE_EQ(scale({ElementType::kCF64}, bytes_from<double>({3, 4, 1, kNan})), 5);
  EXPECT_EQ(scale({ElementType::kF64}, bytes_from<double>({kNan, kInfinite})), 0);
  EXPECT_EQ(scale({ElementType::kF64}, bytes_from<double>({0, -0.0})), 0);
  EXPECT_EQ(scale({ElementType::kF64, {{0, 9}}}, bytes_from<double>({1, 2})), 0);
  EXPECT_EQ(scale({ElementType::kF64}, ""), 0);
  EXPECT_DOUBLE_EQ(scale({ElementType::kF64}, bytes_from<double>({2}) + "behind"), 2);
}

TEST(RootMeanSquare, OfWhatHasNoSquare) {
  EXPECT_EQ(scale({ElementType::kF64}, bytes_from(std::vector<double>(1000, kMost))), kMost);
  EXPECT_DOUBLE_EQ(scale({ElementType::kF64}, bytes_from(std::vector<double>(1000, 1e300))), 1e300);
  EXPECT_DOUBLE_EQ(scale({ElementType::kF64}, bytes_from(std::vector<double>(1000, 1e-300))), 1e-300);
  EXPECT_DOUBLE_EQ(scale({ElementType::kF64}, bytes_from<double>({5e-324, 5e-324})), 5e-324);
}

// As mneme-run reads it: blocks that begin within an element, of which those of zeros are left out.
TEST(RootMeanSquare, IsTheSameInPieces) {
  std::mt19937_64 random(3);
  for (ElementType type : {ElementType::kF32, ElementType::kF64, ElementType::kCF64, ElementType::kI16}) {
    std::string bytes(100'001, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    std::fill(bytes.begin() + 20'003, bytes.begin() + 50'002, '\0');
    Reading reading{type, {{10, 3}, {4000, 5000}}};
    RootMeanSquare pieces(reading, bytes.size());
    for (size_t at = 0; at < bytes.size();) {
      size_t size = std::min<size_t>(1 + random() % 1000, bytes.size() - at);
      if (at < 20'003) size = std::min(size, 20'003 - at);
      if (at < 20'003 || at >= 50'002) pieces.add(at, bytes_of(bytes).subspan(at, size));
      at = at == 20'003 ? 50'002 : at + size;
    }
    EXPECT_GT(pieces.value(), 0);
    EXPECT_EQ(pieces.value(), scale(reading, bytes)) << name_of(type);
  }
}

}  // namespace
}  // namespace mneme::verify
