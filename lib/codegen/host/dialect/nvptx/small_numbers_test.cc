// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers of sixteen bits: what CUDA's kernels make into them and compute with them.
#include <algorithm>
#include <bit>

#include "codegen/host/dialect/nvptx/operations.h"

namespace mneme::codegen::host {
namespace {

// A number rounded to a format of few bits, by way of long double, in which all of them and their midpoints are exact.
uint32_t rounded_to(long double x, int mode, int exponent_bits, int fraction_bits) {
  uint32_t sign = std::signbit(x) ? 1u << (exponent_bits + fraction_bits) : 0;
  int bias = (1 << (exponent_bits - 1)) - 1;
  uint32_t infinity = ((1u << exponent_bits) - 1) << fraction_bits;
  if (std::isnan(x)) return infinity | ((1u << fraction_bits) - 1);
  if (std::isinf(x)) return sign | infinity;
  if (x == 0) return sign;
  int exponent = std::max(std::ilogb(x), 1 - bias);
  std::fesetround(mode);
  long double units = std::nearbyint(std::scalbn(x, fraction_bits - exponent));
  std::fesetround(FE_TONEAREST);
  uint64_t size = static_cast<uint64_t>(std::fabs(units));
  // A carry goes where it should; below the normal numbers the exponent is zero.
  uint64_t result = size + (static_cast<uint64_t>(exponent + bias - 1) << fraction_bits);
  if (result >= infinity) {
    bool inwards = mode == FE_TOWARDZERO || (mode == FE_DOWNWARD && !sign) || (mode == FE_UPWARD && sign);
    result = inwards ? infinity - 1 : infinity;
  }
  return sign | static_cast<uint32_t>(result);
}
uint16_t half_of(long double x, int mode) { return static_cast<uint16_t>(rounded_to(x, mode, 5, 10)); }
uint16_t brain_of(long double x, int mode) { return static_cast<uint16_t>(rounded_to(x, mode, 8, 7)); }

bool is_small_nan(uint16_t x, bool brain) { return (x & 0x7fff) > (brain ? 0x7f80 : 0x7c00); }
// All NaNs as one.
std::function<uint16_t(uint16_t)> settled(bool brain) {
  return [brain](uint16_t x) { return is_small_nan(x, brain) ? uint16_t{0x7fff} : x; };
}

long double value_of(uint16_t x, bool brain) {
  int fraction_bits = brain ? 7 : 10, exponent_bits = brain ? 8 : 5;
  int exponent = (x & 0x7fff) >> fraction_bits, bias = (1 << (exponent_bits - 1)) - 1;
  long double fraction = x & ((1 << fraction_bits) - 1);
  long double size = exponent == (1 << exponent_bits) - 1 ? (fraction != 0 ? kNan : kInf)
                     : exponent == 0                      ? std::scalbn(fraction, 1 - bias - fraction_bits)
                                     : std::scalbn(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  return x & 0x8000 ? -size : size;
}

// cvt of all kinds, into sixteen bits.
TEST(NvptxSmallNumbers, AreConvertedTo) {
  for (bool brain : {false, true}) {
    std::string type = brain ? "bf16" : "f16";
    auto settle = settled(brain);
    auto of = [=](long double x, int mode) { return settle(brain ? brain_of(x, mode) : half_of(x, mode)); };
    Operations<uint16_t, float> from_single;
    Operations<uint16_t, double> from_double;
    Operations<uint16_t, uint32_t> from_word;
    Operations<uint16_t, uint64_t> from_wide;
    for (Mode mode : kModes) {
      int m = mode.mode;
      std::string cvt = std::string("asm \"{ .reg .b16 h; cvt.") + mode.name + "." + type + ".";
      std::string end = " h, $1; mov.b16 $0, h; }\", \"=h,";
      from_single.add(cvt + "f32" + end + "f\"", [=](float x) { return of(x, m); });
      from_double.add(cvt + "f64" + end + "d\"", [=](double x) { return of(x, m); });
      from_word.add(cvt + "s32" + end + "r\"", [=](uint32_t n) { return of(static_cast<int32_t>(n), m); });
      from_word.add(cvt + "u32" + end + "r\"", [=](uint32_t n) { return of(n, m); });
      from_wide.add(cvt + "s64" + end + "l\"", [=](uint64_t n) { return of(static_cast<int64_t>(n), m); });
      from_wide.add(cvt + "u64" + end + "l\"", [=](uint64_t n) { return of(static_cast<long double>(n), m); });
    }
    // NaNs apart: which one it is differs.
    std::vector<float> floats;
    std::vector<double> wide;
    for (float x : singles()) {
      if (!std::isnan(x)) floats.push_back(x);
    }
    for (uint32_t i = 0; i < 600; ++i) floats.push_back(std::bit_cast<float>(0x33000000 + i * 0x48d159u % 0x15000000));
    for (float x : {0x1.008p0f, 0x1.018p0f, 0x1.00800002p0f, 0x1.01p0f, 0x1.0100002p0f, 0x1.03p0f, 0x1p-25f,
                    0x1.000002p-25f, 3.3e38f}) {
      floats.push_back(x);
      floats.push_back(-x);
    }
    for (double x : doubles()) {
      if (!std::isnan(x)) wide.push_back(x);
    }
    // Just beside what lies in the middle of two, which rounding to single first would hide.
    for (double x : {0x1.0080000000001p0, 0x1.007fffffffffep0, 0x1.0100000000001p0, 0x1.00ffffffffffp0,
                     0x1.0000000000001p-25, 0x1.ffdfffffffffep15, 0x1.feffffffffffp127, 0x1.0000000000001p-134}) {
      wide.push_back(x);
      wide.push_back(-x);
    }
    from_single.check(each(floats));
    from_double.check(each(wide));
    std::vector<uint32_t> words = {0,     1,          255,        257,        2049,       2051,   65519,  65520,
                                   65535, 0x7fffffff, 0x80000000, 0xffffffff, 0x01010101, 0x8080, 0x8081, 0xff7f};
    from_word.check(each(words));
    std::vector<uint64_t> many(words.begin(), words.end());
    for (uint64_t n :
         {0x8080000000000000u, 0x8080000000000001u, 0x808000000000ffffu, 0xffffffffffffffffu, 0x8000000000000000u,
          0x7fffffffffffffffu, 0x4040000000000001u, 0x1000000000000001u, 0x0101000000000001u}) {
      many.push_back(n);
    }
    from_wide.check(each(many));
  }
}

TEST(NvptxSmallNumbers, AreComputedWith) {
  std::vector<uint16_t> values;
  for (uint32_t i = 0; i < 97; ++i) values.push_back(static_cast<uint16_t>(i * 40503u));
  for (uint32_t x : {0u, 0x8000u, 0x3c00u, 0x7bffu, 0x7c00u, 0xfc00u, 1u, 0x3ffu, 0x400u, 0x7f80u, 0x3f80u, 0x7f7fu}) {
    values.push_back(static_cast<uint16_t>(x));
  }
  for (bool brain : {false, true}) {
    std::string type = brain ? "bf16" : "f16";
    auto of = [=](long double x) {
      return std::isnan(x) ? uint16_t{0} : brain ? brain_of(x, FE_TONEAREST) : half_of(x, FE_TONEAREST);
    };
    auto value = [=](uint16_t x) { return value_of(x, brain); };
    // A NaN as zero: which one it is differs. In long double sums and products of these are exact where it matters.
    auto text = [&](const std::string& instruction, const std::string& operands) {
      return "asm \"{ .reg .b16 h; .reg .pred p; " + instruction + "." + type + " h, " + operands + "; setp.nan." +
             type + " p, h, h; selp.b16 $0, 0, h, p; }\", ";
    };
    auto exact = [=](long double x) { return of(x); };
    Operations<uint16_t, uint16_t, uint16_t> two;
    two.add(text("add", "$1, $2") + "\"=h,h,h\"", [=](uint16_t a, uint16_t b) { return exact(value(a) + value(b)); });
    two.add(text("mul.rn", "$1, $2") + "\"=h,h,h\"",
            [=](uint16_t a, uint16_t b) { return exact(value(a) * value(b)); });
    std::vector<std::tuple<uint16_t, uint16_t>> rows;
    for (uint32_t i = 0; i < 1000; ++i)
      rows.emplace_back(values[i % values.size()], values[i * 7919 / 13 % values.size()]);
    if (!brain) two.check(rows);  // long double does not hold sums of bfloat16 that are far apart
    Operations<uint16_t, uint16_t, uint16_t, uint16_t> three;
    three.add(text("fma.rn", "$1, $2, $3") + "\"=h,h,h,h\"",
              [=](uint16_t a, uint16_t b, uint16_t c) { return exact(value(a) * value(b) + value(c)); });
    three.add(text("fma.rn.relu", "$1, $2, $3") + "\"=h,h,h,h\"", [=](uint16_t a, uint16_t b, uint16_t c) {
      long double x = value(a) * value(b) + value(c);
      return x <= 0 ? uint16_t{0} : exact(x);
    });
    std::vector<std::tuple<uint16_t, uint16_t, uint16_t>> more;
    for (auto [a, b, c] : triples(values)) {
      long double p = value_of(a, brain) * value_of(b, brain), z = value_of(c, brain);
      bool exactly = !brain || p == 0 || z == 0 || std::fabs(std::ilogb(p) - std::ilogb(z)) < 40;
      if (exactly) more.emplace_back(a, b, c);
    }
    ASSERT_GT(more.size(), 200u);
    three.check(more);
  }
}

TEST(NvptxSmallNumbers, AreComparedInPairs) {
  std::vector<std::tuple<uint32_t, uint32_t>> rows;
  const uint16_t values[] = {0, 0x8000, 0x3c00, 0x3f80, 0xbc00, 0x7f80, 0x7fff, 0x0001, 0x7bff};
  for (uint16_t a : values) {
    for (uint16_t b : values) {
      for (uint32_t pair : {a << 16 | b, b << 16 | a, a << 16 | a}) rows.emplace_back(pair, b << 16 | a);
    }
  }
  for (bool brain : {false, true}) {
    std::string type = brain ? "bf16x2" : "f16x2";
    auto pair_of = [=](auto holds, uint32_t whole) {
      return [=](uint32_t a, uint32_t b) {
        auto half = [=](unsigned shift) {
          return holds(value_of(static_cast<uint16_t>(a >> shift), brain),
                       value_of(static_cast<uint16_t>(b >> shift), brain))
                     ? whole << shift
                     : 0u;
        };
        return half(0) | half(16);
      };
    };
    auto less = [](long double a, long double b) { return a < b; };
    auto unequal = [](long double a, long double b) { return !(a == b); };
    Operations<uint32_t, uint32_t, uint32_t> two;
    two.add("asm \"set.lt.u32." + type + " $0, $1, $2;\", \"=r,r,r\"", pair_of(less, 0xffff));
    two.add("asm \"set.neu.s32." + type + " $0, $1, $2;\", \"=r,r,r\"", pair_of(unequal, 0xffff));
    two.add("asm \"set.lt." + type + "." + type + " $0, $1, $2;\", \"=r,r,r\"", pair_of(less, brain ? 0x3f80 : 0x3c00));
    two.check(rows);
  }
}

}  // namespace
}  // namespace mneme::codegen::host
