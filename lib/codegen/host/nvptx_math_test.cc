// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arithmetic of CUDA's kernels, as LLVM's intrinsics and as assembly, against the processor's own (rounded as it is
// told) and against what the PTX ISA says of special values.
#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <functional>
#include <limits>

#include "codegen/host/nvptx_run.h"

namespace mneme::codegen::host {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const std::vector<float>& singles() {
  static const std::vector<float> kValues = {
      0.0f,           -0.0f,         1.0f,         -1.0f,           1.5f,
      -2.5f,          0.1f,          3.0f,         1e-20f,          -7e18f,
      0x1p-126f,      0x1p-149f,     -0x1.8p-140f, 0x1.fffffep127f, -0x1.fffffep127f,
      kInf,           -kInf,         kNan,         16777217.0f,     2147483648.0f,
      -2147483904.0f, 4294967040.0f, 0.49999997f,  65519.996f,      65520.0f,
      1e-8f,          2.0e-45f,      123456.789f,  0.9999999f,      254.5f};
  return kValues;
}
std::vector<double> doubles() {
  std::vector<double> values;
  for (float value : singles()) values.push_back(value);
  for (double value : {0x1p-1074, -0x1.8p-1040, 0x1.fffffffffffffp1023, 1e300, -1e-300, 0x1.921fb54442d18p1, 9.3e18,
                       1.9e19, 2147483647.5, -2147483648.5, 4294967295.5, 0x1.000001p0, 0x1.0000010000001p0}) {
    values.push_back(value);
  }
  return values;
}

// Bits, but all NaNs are one.
uint32_t bits(float x) { return std::isnan(x) ? 0x7fc00000 : std::bit_cast<uint32_t>(x); }
uint64_t bits(double x) { return std::isnan(x) ? 0x7ff8000000000000 : std::bit_cast<uint64_t>(x); }
template <typename T>
T bits(T x) {
  return x;
}

template <typename T>
std::string type_name() {
  if (std::is_same_v<T, float>) return "float";
  if (std::is_same_v<T, double>) return "double";
  return "i" + std::to_string(sizeof(T) * 8);
}

// One result of each of many operations, for each of many operands: out[operation][thread].
template <typename To, typename... From>
class Operations {
 public:
  // "@llvm.nvvm.…" or "asm \"…\", \"…\"", and what it is to give.
  void add(const std::string& callee, std::function<To(From...)> wanted) {
    calls_.push_back(callee);
    wanted_.push_back(std::move(wanted));
  }

  void check(const std::vector<std::tuple<From...>>& operands, const char* passes = "default<O3>") {
    std::string declarations, body;
    std::vector<std::string> names = {type_name<From>()...};
    for (size_t i = 0; i < calls_.size(); ++i) {
      std::string number = std::to_string(i), arguments, types;
      for (size_t j = 0; j < names.size(); ++j) {
        arguments += (j ? ", " : "") + names[j] + " %a" + std::to_string(j);
        types += (j ? ", " : "") + names[j];
      }
      std::string to = type_name<To>();
      if (calls_[i].starts_with("@")) declarations += "declare " + to + " " + calls_[i] + "(" + types + ")\n";
      body += "  %r" + number + " = call " + to + " " + calls_[i] + "(" + arguments + ")\n  %i" + number +
              " = add i64 %x, " + std::to_string(i * 1024) + "\n  %p" + number + " = getelementptr " + to +
              ", ptr %out, i64 %i" + number + "\n  store " + to + " %r" + number + ", ptr %p" + number + "\n";
    }
    std::string head = "define ptx_kernel void @k(ptr %out";
    std::string loads = "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  %x = zext i32 %t to i64\n";
    for (size_t j = 0; j < names.size(); ++j) {
      std::string n = std::to_string(j);
      head += ", ptr %in" + n;
      loads += "  %q" + n + " = getelementptr " + names[j] + ", ptr %in" + n + ", i64 %x\n  %a" + n + " = load " +
               names[j] + ", ptr %q" + n + "\n";
    }
    NvptxCode code(nvptx_kernel(1 + sizeof...(From)), declarations + head + ") {\n" + loads + body + "  ret void\n}\n",
                   passes);
    std::vector<To> out(calls_.size() * 1024);
    std::tuple<std::vector<From>...> columns;
    for (const auto& row : operands) append(columns, row, std::index_sequence_for<From...>());
    std::vector<void*> arguments = {out.data()};
    std::apply([&](auto&... column) { (arguments.push_back(column.data()), ...); }, columns);
    ASSERT_LE(operands.size(), 1024u);
    code.run(arguments.data(), static_cast<uint32_t>(operands.size()));
    for (size_t i = 0; i < calls_.size(); ++i) {
      int shown = 0;
      for (size_t t = 0; t < operands.size() && shown < 5; ++t) {
        To wanted = std::apply(wanted_[i], operands[t]), got = out[i * 1024 + t];
        if (bits(wanted) == bits(got)) continue;
        ++shown;
        std::string given;
        std::apply([&](auto... value) { ((given += testing::PrintToString(value) + " "), ...); }, operands[t]);
        ADD_FAILURE() << calls_[i] << " of " << given << ": " << testing::PrintToString(got) << ", not "
                      << testing::PrintToString(wanted) << " (" << std::hex << bits(got) << ", not " << bits(wanted)
                      << ")";
      }
    }
  }

 private:
  template <size_t... I>
  static void append(std::tuple<std::vector<From>...>& columns, const std::tuple<From...>& row,
                     std::index_sequence<I...>) {
    (std::get<I>(columns).push_back(std::get<I>(row)), ...);
  }
  std::vector<std::string> calls_;
  std::vector<std::function<To(From...)>> wanted_;
};

template <typename T>
std::vector<std::tuple<T>> each(const std::vector<T>& values) {
  std::vector<std::tuple<T>> rows;
  for (T value : values) rows.emplace_back(value);
  return rows;
}
template <typename T>
std::vector<std::tuple<T, T>> pairs(const std::vector<T>& values) {
  std::vector<std::tuple<T, T>> rows;
  for (size_t i = 0; i < 1024; ++i)
    rows.emplace_back(values[i % values.size()], values[i / values.size() % values.size()]);
  return rows;
}
template <typename T>
std::vector<std::tuple<T, T, T>> triples(const std::vector<T>& values) {
  std::vector<std::tuple<T, T, T>> rows;
  for (uint32_t i = 0; i < 1000; ++i) {
    uint32_t random = i * 2654435761u;
    rows.emplace_back(values[random % values.size()], values[(random >> 8) % values.size()],
                      values[(random >> 16) % values.size()]);
  }
  return rows;
}

struct Mode {
  const char* name;
  int mode;
};
constexpr Mode kModes[] = {{"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};

// As the processor computes it in this mode; the compiler sees neither operands nor result.
template <typename T, typename Operation, typename... Values>
T in_mode(int mode, Operation operation, Values... values) {
  std::fesetround(mode);
  volatile T result = operation(const_cast<const volatile Values&>(values)...);
  std::fesetround(FE_TONEAREST);
  return result;
}

template <typename T>
void check_rounded(const std::vector<T>& values, const std::string& type) {
  Operations<T, T, T> two;
  Operations<T, T, T, T> three;
  Operations<T, T> one;
  for (Mode mode : kModes) {
    std::string end = std::string(".") + mode.name + "." + type;
    int m = mode.mode;
    two.add("@llvm.nvvm.add" + end, [m](T a, T b) {
      return in_mode<T>(m, [](volatile const T& x, volatile const T& y) { return x + y; }, a, b);
    });
    two.add("@llvm.nvvm.mul" + end, [m](T a, T b) {
      return in_mode<T>(m, [](volatile const T& x, volatile const T& y) { return x * y; }, a, b);
    });
    two.add("@llvm.nvvm.div" + end, [m](T a, T b) {
      return in_mode<T>(m, [](volatile const T& x, volatile const T& y) { return x / y; }, a, b);
    });
    three.add("@llvm.nvvm.fma" + end, [m](T a, T b, T c) {
      return in_mode<T>(
          m, [](volatile const T& x, volatile const T& y, volatile const T& z) { return std::fma(T{x}, T{y}, T{z}); },
          a, b, c);
    });
    one.add("@llvm.nvvm.rcp" + end,
            [m](T a) { return in_mode<T>(m, [](volatile const T& x) { return T{1} / x; }, a); });
    one.add("@llvm.nvvm.sqrt" + end,
            [m](T a) { return in_mode<T>(m, [](volatile const T& x) { return std::sqrt(T{x}); }, a); });
  }
  for (const char* passes : {"default<O0>", "default<O3>"}) {
    two.check(pairs(values), passes);
    three.check(triples(values), passes);
    one.check(each(values), passes);
  }
}

TEST(NvptxMath, SinglePrecisionInEveryMode) { check_rounded(singles(), "f"); }
TEST(NvptxMath, DoublePrecisionInEveryMode) { check_rounded(doubles(), "d"); }

float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

TEST(NvptxMath, FlushedAndLimited) {
  Operations<float, float, float> two;
  two.add("@llvm.nvvm.add.rn.ftz.f", [](float a, float b) { return flushed(flushed(a) + flushed(b)); });
  two.add("@llvm.nvvm.mul.rn.ftz.f", [](float a, float b) { return flushed(flushed(a) * flushed(b)); });
  auto least = [](float a, float b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? b : a;
    return a < b || (a == b && std::signbit(a)) ? a : b;
  };
  two.add("@llvm.nvvm.fmin.f", least);
  two.add("@llvm.nvvm.fmin.nan.f", [=](float a, float b) {
    return std::isnan(a + 0 * b) && (std::isnan(a) || std::isnan(b)) ? kNan : least(a, b);
  });
  two.add("@llvm.nvvm.fmax.f", [=](float a, float b) { return -least(-a, -b); });
  two.add("@llvm.nvvm.fmin.xorsign.abs.f", [=](float a, float b) {
    float size = least(std::fabs(a), std::fabs(b));
    return std::signbit(a) != std::signbit(b) ? -size : size;
  });
  two.add("asm \"copysign.f32 $0, $1, $2;\", \"=f,f,f\"", [](float a, float b) { return std::copysign(b, a); });
  two.add("asm \"slct.f32.f32 $0, $1, 0f40000000, $2;\", \"=f,f,f\"",
          [](float a, float b) { return b >= 0 ? a : 2.0f; });
  two.check(pairs(singles()));
  Operations<float, float> one;
  auto test = [](const std::string& kind) {
    return "asm \"{ .reg .pred p; testp." + kind + ".f32 p, $1; selp.f32 $0, 0f3f800000, 0f00000000, p; }\", \"=f,f\"";
  };
  // Zeros are normal to it.
  one.add(test("normal"), [](float a) { return std::isnormal(a) || a == 0 ? 1.0f : 0.0f; });
  one.add(test("subnormal"), [](float a) { return std::fpclassify(a) == FP_SUBNORMAL ? 1.0f : 0.0f; });
  one.add(test("finite"), [](float a) { return std::isfinite(a) ? 1.0f : 0.0f; });
  one.add("@llvm.nvvm.saturate.f", [](float a) { return a > 0 ? (a < 1 ? a : 1.0f) : 0.0f; });
  one.add("@llvm.nvvm.ceil.f", [](float a) { return std::ceil(a); });
  one.add("@llvm.nvvm.floor.ftz.f", [](float a) { return std::floor(flushed(a)); });
  one.add("@llvm.nvvm.trunc.f", [](float a) { return std::trunc(a); });
  one.add("@llvm.nvvm.round.f", [](float a) { return std::nearbyint(a); });
  one.add("@llvm.nvvm.fabs.ftz.f", [](float a) { return std::fabs(flushed(a)); });
  one.add("@llvm.nvvm.rsqrt.approx.f", [](float a) { return 1.0f / std::sqrt(a); });
  one.add("@llvm.nvvm.sqrt.approx.ftz.f", [](float a) { return flushed(std::sqrt(flushed(a))); });
  one.check(each(singles()));
}

TEST(NvptxMath, ApproximationsAreNear) {
  struct Approximation {
    const char* name;
    double (*exact)(double);
  };
  for (auto [name, exact] :
       {Approximation{"ex2", std::exp2}, {"lg2", std::log2}, {"sin", std::sin}, {"cos", std::cos}}) {
    NvptxCode code(nvptx_kernel(2), std::string("declare float @llvm.nvvm.") + name +
                                        ".approx.f(float)\ndeclare float @llvm.nvvm.tanh.approx.f32(float)\n" +
                                        "define ptx_kernel void @k(ptr %out, ptr %in) {\n"
                                        "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  %x = zext i32 %t to i64\n"
                                        "  %p = getelementptr float, ptr %in, i64 %x\n  %a = load float, ptr %p\n"
                                        "  %r = call float @llvm.nvvm." +
                                        name +
                                        ".approx.f(float %a)\n  %q = getelementptr float, ptr %out, i64 %x\n"
                                        "  store float %r, ptr %q\n"
                                        "  %h = call float @llvm.nvvm.tanh.approx.f32(float %a)\n"
                                        "  %y = add i64 %x, 512\n  %o = getelementptr float, ptr %out, i64 %y\n"
                                        "  store float %h, ptr %o\n  ret void\n}\n");
    std::vector<float> in = singles(), out(1024);
    for (int i = 0; in.size() < 512; ++i) in.push_back(static_cast<float>(i) * 0.037f - 8);
    void* arguments[] = {out.data(), in.data()};
    code.run(arguments, 512);
    auto expect_near = [](float got, double wanted, const char* what, float of) {
      if (std::isnan(wanted)) {
        EXPECT_TRUE(std::isnan(got)) << what << " " << of;
        return;
      }
      float nearest = static_cast<float>(wanted);
      bool near = got == nearest || got == std::nextafter(nearest, kInf) || got == std::nextafter(nearest, -kInf);
      EXPECT_TRUE(near) << what << " of " << of << ": " << got << ", not " << nearest;
    };
    for (size_t i = 0; i < 512; ++i) {
      expect_near(out[i], exact(in[i]), name, in[i]);
      expect_near(out[512 + i], std::tanh(static_cast<double>(in[i])), "tanh", in[i]);
    }
  }
}

// Beyond the range: its ends; a NaN: 0, or, where a wide type is on either side, the upper bit.
template <typename To, typename From>
To converted(From x, int mode) {
  constexpr bool kWide = sizeof(From) == 8 || sizeof(To) == 8;
  if (std::isnan(x)) return kWide ? To{1} << (sizeof(To) * 8 - 1) : To{0};
  std::fesetround(mode);
  long double whole = std::nearbyint(static_cast<long double>(x));
  std::fesetround(FE_TONEAREST);
  if (whole <= static_cast<long double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (whole >= static_cast<long double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(whole);
}

template <typename From, typename To>
void check_to_integers(const std::vector<From>& values, const std::string& name) {
  // The IR has no signs.
  Operations<std::make_unsigned_t<To>, From> one;
  for (Mode mode : kModes) {
    one.add("@llvm.nvvm." + name + "." + mode.name,
            [m = mode.mode](From x) { return static_cast<std::make_unsigned_t<To>>(converted<To, From>(x, m)); });
  }
  one.check(each(values));
}

TEST(NvptxConversions, ToIntegers) {
  check_to_integers<float, int32_t>(singles(), "f2i");
  check_to_integers<float, uint32_t>(singles(), "f2ui");
  check_to_integers<float, int64_t>(singles(), "f2ll");
  check_to_integers<float, uint64_t>(singles(), "f2ull");
  check_to_integers<double, int32_t>(doubles(), "d2i");
  check_to_integers<double, uint32_t>(doubles(), "d2ui");
  check_to_integers<double, int64_t>(doubles(), "d2ll");
  check_to_integers<double, uint64_t>(doubles(), "d2ull");
}

template <typename From, typename To>
void check_from_integers(const std::string& name) {
  std::vector<std::make_unsigned_t<From>> values = {0,         1,          2,          0xffffff,  0x1000001,
                                                    0x1000003, 0x7fffffff, 0x80000000, 0xffffffff};
  if (sizeof(From) == 8) {
    for (uint64_t value :
         {0x1fffffffffffffu, 0x20000000000001u, 0x20000000000003u, 0x7fffffffffffffffu, 0x8000000000000000u,
          0x8000000000000401u, 0xfffffffffffffc01u, 0xffffffffffffffffu, 0x8000008000000001u, 0x123456789abcdefu}) {
      values.push_back(static_cast<std::make_unsigned_t<From>>(value));
    }
  }
  Operations<To, std::make_unsigned_t<From>> one;
  for (Mode mode : kModes) {
    one.add("@llvm.nvvm." + name + "." + mode.name, [m = mode.mode](std::make_unsigned_t<From> n) {
      // A long double holds all 64 bits.
      return in_mode<To>(
          m, [](volatile const long double& x) { return static_cast<To>(x); },
          static_cast<long double>(static_cast<From>(n)));
    });
  }
  one.check(each(values));
}

TEST(NvptxConversions, FromIntegers) {
  check_from_integers<int32_t, float>("i2f");
  check_from_integers<uint32_t, float>("ui2f");
  check_from_integers<int64_t, float>("ll2f");
  check_from_integers<uint64_t, float>("ull2f");
  check_from_integers<int32_t, double>("i2d");
  check_from_integers<uint32_t, double>("ui2d");
  check_from_integers<int64_t, double>("ll2d");
  check_from_integers<uint64_t, double>("ull2d");
}

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
TEST(NvptxConversions, ToSmallNumbers) {
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

TEST(NvptxMath, SmallNumbers) {
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

TEST(NvptxIntegers, IntrinsicsAndTheirKind) {
  std::vector<uint32_t> values = {0,          1,          2,          31,         32,         33,         0x7fffffff,
                                  0x80000000, 0xffffffff, 0x12345678, 0xdeadbeef, 0xff00ff00, 0x00ffffff, 0x01000001,
                                  8,          255,        0x7654,     0x3210,     0xfedc,     40};
  auto s = [](uint32_t x) { return static_cast<int32_t>(x); };
  Operations<uint32_t, uint32_t, uint32_t> two;
  two.add("@llvm.nvvm.mulhi.ui", [](uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); });
  two.add("@llvm.nvvm.mulhi.i",
          [=](uint32_t a, uint32_t b) { return static_cast<uint32_t>(int64_t{s(a)} * s(b) >> 32); });
  two.add("@llvm.nvvm.mul24.i",
          [=](uint32_t a, uint32_t b) { return static_cast<uint32_t>(int64_t{s(a << 8) >> 8} * (s(b << 8) >> 8)); });
  two.add("@llvm.nvvm.mul24.ui", [](uint32_t a, uint32_t b) { return (a & 0xffffff) * (b & 0xffffff); });
  two.add("asm \"shl.b32 $0, $1, $2;\", \"=r,r,r\"", [](uint32_t a, uint32_t b) { return b < 32 ? a << b : 0; });
  two.add("asm \"shr.u32 $0, $1, $2;\", \"=r,r,r\"", [](uint32_t a, uint32_t b) { return b < 32 ? a >> b : 0; });
  two.add("asm \"shr.s32 $0, $1, $2;\", \"=r,r,r\"",
          [=](uint32_t a, uint32_t b) { return static_cast<uint32_t>(s(a) >> std::min(b, 31u)); });
  two.add("asm \"add.sat.s32 $0, $1, $2;\", \"=r,r,r\"", [=](uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(std::clamp<int64_t>(int64_t{s(a)} + s(b), INT32_MIN, INT32_MAX));
  });
  two.add(
      "asm \"{ .reg .pred p, q; setp.lt.s32 p|q, $1, $2; selp.b32 $0, $1, $2, q; @!q add.u32 $0, $0, 5; }\", "
      "\"=&r,r,r\"",
      [=](uint32_t a, uint32_t b) { return s(a) < s(b) ? b + 5 : a; });
  two.add("asm \"{ .reg .b64 w; mov.b64 w, {$1, $2}; shr.u64 w, w, 8; cvt.u32.u64 $0, w; }\", \"=r,r,r\"",
          [](uint32_t a, uint32_t b) { return a >> 8 | b << 24; });
  two.add(
      "asm \"{ .reg .u64 w; .reg .b32 lo, hi; mul.wide.u32 w, $1, $2; mov.b64 {lo, hi}, w; xor.b32 $0, lo, hi; }\", "
      "\"=r,r,r\"",
      [](uint32_t a, uint32_t b) {
        uint64_t w = uint64_t{a} * b;
        return static_cast<uint32_t>(w) ^ static_cast<uint32_t>(w >> 32);
      });
  // A sum of 64 bits out of two of 32, as programs with long numbers have it.
  two.add("asm \"{ .reg .u32 t; add.cc.u32 t, $1, $2; addc.u32 $0, $1, 7; }\", \"=r,r,r\"",
          [](uint32_t a, uint32_t b) { return a + 7 + static_cast<uint32_t>((uint64_t{a} + b) >> 32); });
  two.add("asm \"{ .reg .u32 t; sub.cc.u32 t, $1, $2; subc.u32 $0, $1, 7; }\", \"=r,r,r\"",
          [](uint32_t a, uint32_t b) { return a - 7 - (a < b); });
  two.add("asm \"{ .reg .u32 t; mad.lo.cc.u32 t, $1, $2, $2; madc.hi.u32 $0, $1, $2, 1; }\", \"=r,r,r\"",
          [](uint32_t a, uint32_t b) {
            uint64_t carry = (uint64_t{a * b} + b) >> 32;
            return static_cast<uint32_t>((uint64_t{a} * b >> 32) + 1 + carry);
          });
  two.add("asm \"bfind.u32 $0, $1;\", \"=r,r,r\"",
          [](uint32_t a, uint32_t) { return a ? 31u - static_cast<uint32_t>(std::countl_zero(a)) : ~0u; });
  two.add("asm \"bfind.shiftamt.s32 $0, $1;\", \"=r,r,r\"", [=](uint32_t a, uint32_t) {
    uint32_t x = s(a) < 0 ? ~a : a;
    return x ? static_cast<uint32_t>(std::countl_zero(x)) : ~0u;
  });
  two.add("asm \"bmsk.clamp.b32 $0, $1, $2;\", \"=r,r,r\"", [](uint32_t a, uint32_t b) {
    uint32_t mask = 0;
    for (uint64_t i = a; i < uint64_t{a} + b && i < 32; ++i) mask |= 1u << i;
    return mask;
  });
  two.add("asm \"szext.wrap.s32 $0, $1, $2;\", \"=r,r,r\"", [=](uint32_t a, uint32_t b) {
    uint32_t n = b & 31;
    return n == 0 ? 0 : static_cast<uint32_t>(s(a << (32 - n)) >> (32 - n));
  });
  two.add("asm \"szext.clamp.u32 $0, $1, $2;\", \"=r,r,r\"", [](uint32_t a, uint32_t b) {
    return b == 0 ? 0 : b >= 32 ? a : a & (~0u >> (32 - b));
  });
  two.add("asm \"slct.u32.s32 $0, $1, 3, $2;\", \"=r,r,r\"", [=](uint32_t a, uint32_t b) { return s(b) >= 0 ? a : 3; });
  two.add("asm \"set.gt.s32.u32 $0, $1, $2;\", \"=r,r,r\"", [](uint32_t a, uint32_t b) { return a > b ? ~0u : 0; });
  auto parts = [](uint32_t a, uint32_t b, unsigned size, bool is_signed, auto operation) {
    uint32_t result = 0;
    for (unsigned i = 0; i < 32; i += size) {
      auto part = [&](uint32_t x) {
        uint32_t up = x >> i << (32 - size);
        return is_signed ? static_cast<int32_t>(up) >> (32 - size) : static_cast<int32_t>(up >> (32 - size));
      };
      result |= (static_cast<uint32_t>(operation(part(a), part(b))) & (~0u >> (32 - size))) << i;
    }
    return result;
  };
  two.add("asm \"vadd2.s32.s32.s32.sat $0, $1, $2, 0;\", \"=r,r,r\"", [=](uint32_t a, uint32_t b) {
    return parts(a, b, 16, true, [](int x, int y) { return std::clamp(x + y, -32768, 32767); });
  });
  two.add("asm \"vsub4.u32.u32.u32.sat $0, $1, $2, 0;\", \"=r,r,r\"", [=](uint32_t a, uint32_t b) {
    return parts(a, b, 8, false, [](int x, int y) { return std::clamp(x - y, 0, 255); });
  });
  two.add("asm \"vset4.s32.s32.lt $0, $1, $2, 0;\", \"=r,r,r\"",
          [=](uint32_t a, uint32_t b) { return parts(a, b, 8, true, [](int x, int y) { return x < y; }); });
  two.add("asm \"vavrg4.u32.u32.u32 $0, $1, $2, 0;\", \"=r,r,r\"",
          [=](uint32_t a, uint32_t b) { return parts(a, b, 8, false, [](int x, int y) { return (x + y + 1) / 2; }); });
  two.add("asm \"vabsdiff4.u32.u32.u32.add $0, $1, $2, $2;\", \"=r,r,r\"", [](uint32_t a, uint32_t b) {
    uint32_t sum = b;
    for (int i = 0; i < 32; i += 8) {
      sum += static_cast<uint32_t>(std::abs(static_cast<int>(a >> i & 255) - static_cast<int>(b >> i & 255)));
    }
    return sum;
  });
  two.check(pairs(values));

  Operations<uint32_t, uint32_t, uint32_t, uint32_t> three;
  auto byte_at = [](uint32_t a, uint32_t b, uint32_t i) {
    return static_cast<uint8_t>((uint64_t{b} << 32 | a) >> (8 * (i & 7)));
  };
  auto bytes = [](auto byte) {
    uint32_t result = 0;
    for (uint32_t i = 0; i < 4; ++i) result |= uint32_t{byte(i)} << 8 * i;
    return result;
  };
  three.add("@llvm.nvvm.prmt", [=](uint32_t a, uint32_t b, uint32_t c) {
    return bytes([&](uint32_t i) -> uint8_t {
      uint32_t selector = c >> 4 * i & 15;
      uint8_t byte = byte_at(a, b, selector);
      return selector & 8 ? (byte & 0x80 ? 255 : 0) : byte;
    });
  });
  // The tables of the PTX ISA, from the highest byte to the lowest.
  struct Permutation {
    const char* mode;
    uint32_t selectors[4];
  };
  for (Permutation with : {Permutation{"f4e", {0x3210, 0x4321, 0x5432, 0x6543}},
                           {"b4e", {0x5670, 0x6701, 0x7012, 0x0123}},
                           {"rc8", {0x0000, 0x1111, 0x2222, 0x3333}},
                           {"ecl", {0x3210, 0x3211, 0x3222, 0x3333}},
                           {"ecr", {0x0000, 0x1110, 0x2210, 0x3210}},
                           {"rc16", {0x1010, 0x3232, 0x1010, 0x3232}}}) {
    three.add(std::string("asm \"prmt.b32.") + with.mode + " $0, $1, $2, $3;\", \"=r,r,r,r\"",
              [=](uint32_t a, uint32_t b, uint32_t c) {
                return bytes([&](uint32_t i) { return byte_at(a, b, with.selectors[c & 3] >> 4 * i & 7); });
              });
  }
  three.add("@llvm.nvvm.sad.i", [=](uint32_t a, uint32_t b, uint32_t c) {
    return static_cast<uint32_t>(std::abs(int64_t{s(a)} - s(b))) + c;
  });
  three.add("@llvm.nvvm.sad.ui", [](uint32_t a, uint32_t b, uint32_t c) { return (a > b ? a - b : b - a) + c; });
  three.add("@llvm.nvvm.fns", [](uint32_t mask, uint32_t base, uint32_t offset) {
    // As CUDA's programming guide describes __fns.
    int n = static_cast<int32_t>(offset), found = 0;
    if (base > 31) return ~0u;
    if (n == 0) return mask >> base & 1 ? base : ~0u;
    for (int i = static_cast<int>(base); n > 0 ? i < 32 : i >= 0; i += n > 0 ? 1 : -1) {
      found += mask >> i & 1;
      if (int64_t{found} == std::abs(int64_t{n})) return static_cast<uint32_t>(i);
    }
    return ~0u;
  });
  auto field = [=](uint32_t a, uint32_t position, uint32_t length, bool is_signed) {
    // The pseudocode of bfe in the PTX ISA.
    uint32_t result = 0, pos = position & 255, len = length & 255;
    bool sign = !is_signed || len == 0 ? false : a >> std::min(pos + len - 1, 31u) & 1;
    for (uint32_t i = 0; i < 32; ++i) {
      bool bit = i < len && pos + i <= 31 ? a >> (pos + i) & 1 : sign;
      result |= static_cast<uint32_t>(bit) << i;
    }
    return result;
  };
  three.add("asm \"bfe.u32 $0, $1, $2, $3;\", \"=r,r,r,r\"",
            [=](uint32_t a, uint32_t b, uint32_t c) { return field(a, b, c, false); });
  three.add("asm \"bfe.s32 $0, $1, $2, $3;\", \"=r,r,r,r\"",
            [=](uint32_t a, uint32_t b, uint32_t c) { return field(a, b, c, true); });
  three.add("asm \"bfi.b32 $0, $1, $2, $3, 9;\", \"=r,r,r,r\"", [](uint32_t a, uint32_t b, uint32_t c) {
    uint32_t pos = c & 255;
    for (uint32_t i = 0; i < 9 && pos + i <= 31; ++i) {
      b = (b & ~(1u << (pos + i))) | (a >> i & 1) << (pos + i);
    }
    return b;
  });
  three.add("asm \"lop3.b32 $0, $1, $2, $3, 0xE8;\", \"=r,r,r,r\"",
            [](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | (a & c) | (b & c); });
  three.add("asm \"lop3.b32 $0, $1, $2, $3, 0x1A;\", \"=r,r,r,r\"",
            [](uint32_t a, uint32_t b, uint32_t c) { return ((a & b) | c) ^ a; });
  three.add("asm \"shf.l.wrap.b32 $0, $1, $2, $3;\", \"=r,r,r,r\"", [](uint32_t a, uint32_t b, uint32_t c) {
    return static_cast<uint32_t>((uint64_t{b} << 32 | a) << (c & 31) >> 32);
  });
  three.add("asm \"shf.r.clamp.b32 $0, $1, $2, $3;\", \"=r,r,r,r\"", [](uint32_t a, uint32_t b, uint32_t c) {
    return static_cast<uint32_t>((uint64_t{b} << 32 | a) >> std::min(c, 32u));
  });
  three.add("asm \"dp4a.s32.u32 $0, $1, $2, $3;\", \"=r,r,r,r\"", [](uint32_t a, uint32_t b, uint32_t c) {
    for (int i = 0; i < 32; i += 8)
      c += static_cast<uint32_t>(static_cast<int8_t>(a >> i) * static_cast<int>(b >> i & 255));
    return c;
  });
  three.add("asm \"dp2a.hi.u32.u32 $0, $1, $2, $3;\", \"=r,r,r,r\"", [](uint32_t a, uint32_t b, uint32_t c) {
    return c + (a & 0xffff) * (b >> 16 & 255) + (a >> 16) * (b >> 24);
  });
  three.check(triples(values));
  three.check(triples(values), "default<O0>");
}

}  // namespace
}  // namespace mneme::codegen::host
