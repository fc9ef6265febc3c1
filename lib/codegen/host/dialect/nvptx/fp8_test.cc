// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers of eight bits, as cuda_fp8.h has sm_89 and later convert to and from them. What is wanted is looked up among
// all the values that there are, and does no arithmetic on bits.
#include <bit>

#include "codegen/host/dialect/nvptx/operations.h"

namespace mneme::codegen::host {
namespace {

struct Fp8 {
  const char* name;
  int exponent_bits, fraction_bits;
  uint32_t largest;

  bool is_e4m3() const { return fraction_bits == 3; }
  double value_of(uint32_t x) const {
    uint32_t size = x & 0x7f;
    double fraction = size % (1u << fraction_bits);
    int exponent = static_cast<int>(size >> fraction_bits), bias = (1 << (exponent_bits - 1)) - 1;
    double value = size > largest  ? (!is_e4m3() && fraction == 0 ? kInf : kNan)
                   : exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                                   : std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
    return x & 0x80 ? -value : value;
  }
  // The closest finite one, of two the even one.
  uint32_t of(double x) const {
    if (std::isnan(x)) return 0x7f;
    uint32_t above = 1;
    while (above <= largest && value_of(above) <= std::fabs(x)) ++above;
    uint32_t below = above - 1, nearest = below;
    if (below < largest) {
      double to_below = std::fabs(x) - value_of(below), to_above = value_of(above) - std::fabs(x);
      nearest = to_below != to_above ? (to_below < to_above ? below : above) : (below % 2 == 0 ? below : above);
    }
    return nearest | (std::signbit(x) ? 0x80 : 0);
  }
};
constexpr Fp8 kE4m3 = {"e4m3x2", 4, 3, 0x7e}, kE5m2 = {"e5m2x2", 5, 2, 0x7b};

double half_value(uint32_t x) {
  double fraction = x & 0x3ff;
  int exponent = x >> 10 & 31;
  double value = exponent == 31  ? (fraction != 0 ? kNan : kInf)
                 : exponent == 0 ? std::ldexp(fraction, -24)
                                 : std::ldexp(fraction + 1024, exponent - 25);
  return x & 0x8000 ? -value : value;
}
// Of a value that a half has; all NaNs are one.
uint32_t half_of(double x) {
  if (std::isnan(x)) return 0x7fff;
  uint32_t sign = std::signbit(x) ? 0x8000 : 0, size = 0;
  while (half_value(size) != std::fabs(x)) ++size;
  return sign | size;
}

double rectified(double x) { return x <= 0 ? 0 : x; }

class NvptxFp8 : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Levels, NvptxFp8, testing::Values("default<O0>", "default<O3>"));

TEST(NvptxFp8Reference, IsWhatTheFormatsSay) {
  EXPECT_EQ(kE4m3.value_of(0x01), 0x1p-9);
  EXPECT_EQ(kE4m3.value_of(0x08), 0x1p-6);
  EXPECT_EQ(kE4m3.value_of(0xb8), -1.0);
  EXPECT_EQ(kE4m3.value_of(0x7e), 448.0);
  EXPECT_TRUE(std::isnan(kE4m3.value_of(0xff)));
  EXPECT_EQ(kE5m2.value_of(0x01), 0x1p-16);
  EXPECT_EQ(kE5m2.value_of(0x3d), 1.25);
  EXPECT_EQ(kE5m2.value_of(0x7b), 57344.0);
  EXPECT_EQ(kE5m2.value_of(0xfc), -kInf);
  EXPECT_TRUE(std::isnan(kE5m2.value_of(0x7d)));
  EXPECT_EQ(kE4m3.of(1.0625), 0x38u);   // between 1 and 1.125: the even one
  EXPECT_EQ(kE4m3.of(1.1875), 0x3au);   // between 1.125 and 1.25
  EXPECT_EQ(kE4m3.of(-464.0), 0xfeu);   // would go to 480, which is not there
  EXPECT_EQ(kE4m3.of(0x1p-10), 0x00u);  // half the smallest
  EXPECT_EQ(kE4m3.of(-0x1.8p-9), 0x82u);
  EXPECT_EQ(kE4m3.of(0x1.fp-7), 0x08u);  // the largest below the normal ones, and half a step
  EXPECT_EQ(kE5m2.of(kInf), 0x7bu);
  EXPECT_EQ(kE5m2.of(-61440.0), 0xfbu);
  EXPECT_EQ(kE5m2.of(1.375), 0x3eu);
  EXPECT_EQ(kE5m2.of(0x1p-17), 0x00u);
  EXPECT_EQ(kE5m2.of(std::nextafter(0x1p-17, 1.0)), 0x01u);
  EXPECT_EQ(half_of(0x1p-9), 0x1800u);
  EXPECT_EQ(half_of(-448.0), 0xdf00u);
}

TEST_P(NvptxFp8, OfEveryHalf) {
  Operations<uint16_t, uint32_t> one;
  for (const Fp8& format : {kE4m3, kE5m2}) {
    for (bool relu : {false, true}) {
      std::vector<uint8_t> of(65536);
      for (uint32_t i = 0; i < of.size(); ++i) {
        double x = half_value(i);
        of[i] = static_cast<uint8_t>(format.of(relu ? rectified(x) : x));
      }
      one.add(
          std::string("asm \"{cvt.rn.satfinite.") + (relu ? "relu." : "") + format.name + ".f16x2 $0, $1;}\", \"=h,r\"",
          [of](uint32_t x) { return static_cast<uint16_t>(of[x >> 16] << 8 | of[x & 0xffff]); });
    }
  }
  // Each in the lower half, and another one above it, which is another each time.
  std::vector<std::tuple<uint32_t>> rows;
  for (uint32_t i = 0; i < 65536; ++i) rows.emplace_back((i * 40503u + 12345u) << 16 | i);
  one.check(rows, GetParam());
}

// All exponents with fractions of few bits and just beside them: what lies in the middle of two, and to both sides.
std::vector<float> many_singles() {
  std::vector<float> values = singles();
  for (uint32_t exponent = 0; exponent < 256; ++exponent) {
    for (uint32_t sixteenth = 0; sixteenth < 16; ++sixteenth) {
      // About where the formats' ranges begin and end, all of these; elsewhere some.
      bool in_range = exponent >= 127 - 20 && exponent <= 127 + 17;
      if (!in_range && sixteenth % 5 != exponent % 5) continue;
      uint32_t bits = exponent << 23 | sixteenth << 19;
      for (uint32_t beside : {bits - 1, bits, bits + 1, bits | 0x3ffff}) {
        values.push_back(std::bit_cast<float>(beside & 0x7fffffff));
        values.push_back(std::bit_cast<float>(beside | 0x80000000));
      }
    }
  }
  for (uint32_t nan : {0x7f800001u, 0x7fffffffu, 0xff800001u, 0xffc00000u, 0x7fa00000u}) {
    values.push_back(std::bit_cast<float>(nan));
  }
  return values;
}

TEST_P(NvptxFp8, OfFloats) {
  Operations<uint16_t, float, float> two;
  for (const Fp8& format : {kE4m3, kE5m2}) {
    for (bool relu : {false, true}) {
      auto of = [=](float x) { return format.of(relu ? rectified(x) : x); };
      two.add(std::string("asm \"{cvt.rn.satfinite.") + (relu ? "relu." : "") + format.name +
                  ".f32 $0, $1, $2;}\", \"=h,f,f\"",
              [=](float a, float b) { return static_cast<uint16_t>(of(a) << 8 | of(b)); });
    }
  }
  std::vector<float> values = many_singles();
  ASSERT_GT(values.size(), 4000u);
  std::vector<std::tuple<float, float>> rows;
  for (size_t i = 0; i < values.size(); ++i) rows.emplace_back(values[i], values[(i * 7919 + 17) % values.size()]);
  two.check(rows, GetParam());
}

TEST_P(NvptxFp8, ToHalves) {
  Operations<uint32_t, uint16_t> one;
  for (const Fp8& format : {kE4m3, kE5m2}) {
    for (bool relu : {false, true}) {
      auto of = [=](uint32_t x) {
        double value = format.value_of(x);
        return half_of(relu ? rectified(value) : value);
      };
      one.add(std::string("asm \"{cvt.rn.") + (relu ? "relu." : "") + "f16x2." + format.name + " $0, $1;}\", \"=r,h\"",
              [=](uint16_t x) { return of(x >> 8) << 16 | of(x & 0xff); });
    }
  }
  std::vector<std::tuple<uint16_t>> rows;
  for (uint32_t i = 0; i < 256; ++i) rows.emplace_back(static_cast<uint16_t>((i * 91 + 7) << 8 | i));
  one.check(rows, GetParam());
}

}  // namespace
}  // namespace mneme::codegen::host
