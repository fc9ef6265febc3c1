// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything that __half and __half2 can do: operators, comparisons, conversions from and to integers with their
// rounding, packing, fused multiply-add, and the mathematical functions. Half precision has few enough numbers to try
// every one of them.

#include <hip/hip_fp16.h>

#include "check.h"

using Bits = unsigned short;
constexpr int kAll = 1 << 16;

__device__ __half from_bits(Bits bits) { return __half(__half_raw{.x = bits}); }
// One NaN for all: which one arithmetic gives is not laid down.
__device__ Bits bits_of(__half value) {
  Bits bits = static_cast<__half_raw>(value).x;
  return (bits & 0x7fff) > 0x7c00 ? 0x7e00 : bits;
}
__device__ float wide(__half value) {
  float result = __half2float(value);
  return result == result ? result : __builtin_nanf("");
}

// HIP's header truncates, whatever rounding a function is named for; its operators <= and >= say what the reverse <
// does not, and its "unordered" comparisons are ordered. CUDA's do what they are named for.
#ifdef __HIP__
constexpr bool kAsNamed = false;
#else
constexpr bool kAsNamed = true;
#endif

constexpr int kArithmetic = 12;
constexpr int kFunctions = 14;
constexpr int kIntegers = 10;

__global__ void arithmetic(const Bits* second, const Bits* third, Bits* out, unsigned* relations) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half a = from_bits(static_cast<Bits>(i)), b = from_bits(second[i]), c = from_bits(third[i]);
  __half sum = a;
  sum += b;
  Bits results[kArithmetic] = {bits_of(sum),
                               bits_of(a - b),
                               bits_of(a * b),
                               bits_of(a / b),
                               bits_of(__hfma(a, b, c)),
                               bits_of(-a),
                               bits_of(__habs(a)),
                               bits_of(__hneg(b)),
                               bits_of(__hadd_sat(a, b)),
                               bits_of(__hmul_sat(a, b)),
                               bits_of(__float2half(__half2float(a))),
                               bits_of(__hdiv(a, b))};
  for (int f = 0; f < kArithmetic; ++f) out[f * kAll + i] = results[f];
  relations[i] = (a == b) | (a != b) << 1 | (a < b) << 2 | (a <= b) << 3 | (a > b) << 4 | (a >= b) << 5 |
                 __heq(a, b) << 6 | __hltu(a, b) << 7 | __hgeu(a, b) << 8 | (__hisnan(a) != 0) << 9 |
                 (__hisinf(a) != 0) << 10 | (__half2float(a) == 1.0f) << 11;
}

__global__ void packed(const Bits* second, const Bits* third, Bits* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half2 a = __halves2half2(from_bits(static_cast<Bits>(i)), from_bits(static_cast<Bits>(i ^ 0x155)));
  __half2 b = __half2half2(from_bits(second[i]));
  __half2 c = __halves2half2(from_bits(third[i]), from_bits(second[i]));
  __half2 results[] = {__hadd2(a, b), __hsub2(a, b), __hmul2(a, b), __hfma2(a, b, c), __hneg2(a), a * b + c};
  for (int f = 0; f < 6; ++f) {
    out[(2 * f) * kAll + i] = bits_of(__low2half(results[f]));
    out[(2 * f + 1) * kAll + i] = bits_of(__high2half(results[f]));
  }
}

__global__ void functions(float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half a = from_bits(static_cast<Bits>(i));
  __half results[kFunctions] = {hceil(a), hfloor(a), htrunc(a), hrint(a), hsqrt(a), hrsqrt(a), hrcp(a),
                                hexp(a),  hexp2(a),  hexp10(a), hlog(a),  hlog2(a), hlog10(a), hsin(a)};
  for (int f = 0; f < kFunctions; ++f) out[f * kAll + i] = wide(results[f]);
  out[kFunctions * kAll + i] = wide(hcos(a));
}

__global__ void integers(long long* out, Bits* back) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half a = from_bits(static_cast<Bits>(i));
  if (!(fabsf(__half2float(a)) < 32000.0f)) a = from_bits(0x3e00);  // 1.5
  __half size = __habs(a);
  long long results[kIntegers] = {
      __half2int_rn(a),       __half2int_rz(a),     __half2int_rd(a),
      __half2int_ru(a),       __half2uint_rz(size), __half2short_rz(a),
      __half2ushort_rz(size), __half2ll_rz(a),      static_cast<long long>(__half2ull_rz(size)),
      static_cast<int>(a)};
  for (int f = 0; f < kIntegers; ++f) out[f * kAll + i] = results[f];
  back[i] = bits_of(__int2half_rn(i - 30000));
  back[kAll + i] = bits_of(__float2half(static_cast<float>(i) * 0x1p-9f - 50.0f));
  back[2 * kAll + i] = bits_of(__half(static_cast<double>(i) * 0x1p-9 - 50.0));
  back[3 * kAll + i] = bits_of(__ll2half_rn(static_cast<long long>(i) * 2 - 65000));
}

static _Float16 value_of(Bits bits) {
  _Float16 value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

static bool is_nan(Bits bits) { return (bits & 0x7fff) > 0x7c00; }

static bool same(Bits got, double exact) {
  _Float16 want = static_cast<_Float16>(exact);
  Bits bits;
  std::memcpy(&bits, &want, sizeof bits);
  return is_nan(bits) ? is_nan(got) : got == bits;
}

static double saturated(double x) { return x != x ? 0 : std::fmin(1.0, std::fmax(0.0, x)); }

static std::string at(const char* what, int f, int i) {
  return std::string(what) + " " + std::to_string(f) + " of " + std::to_string(i);
}

// A double holds every sum, product and sum of a product exactly; what a quotient is rounded to twice differs only if
// the first rounding ends halfway, which it does not.
static void check_arithmetic(Test& test, const Bits* second, const Bits* third, const std::vector<Bits>& out,
                             const std::vector<unsigned>& relations) {
  for (int i = 0; i < kAll; ++i) {
    double a = value_of(static_cast<Bits>(i)), b = value_of(second[i]), c = value_of(third[i]);
    double want[kArithmetic] = {
        a + b, a - b, a * b, a / b, a * b + c, -a, std::fabs(a), -b, saturated(a + b), saturated(a * b), a, a / b};
    for (int f = 0; f < kArithmetic; ++f) {
      bool saturates_nan = (f == 8 || f == 9) && (a != a || b != b || want[f] != want[f] || a * b != a * b);
      if (saturates_nan || (f >= 8 && f <= 9 && want[f] == 0 && value_of(out[f * kAll + i]) == 0)) continue;
      if (!same(out[f * kAll + i], want[f])) test.expect(false, at("arithmetic", f, i));
    }
    bool unordered = a != a || b != b;
    unsigned bits = (a == b) | (a != b) << 1 | (a < b) << 2 | (a <= b || (unordered && !kAsNamed)) << 3 | (a > b) << 4 |
                    (a >= b || (unordered && !kAsNamed)) << 5 | (a == b) << 6 |
                    (a < b || (unordered && kAsNamed)) << 7 | (a >= b || (unordered && kAsNamed)) << 8 | (a != a) << 9 |
                    (std::isinf(a)) << 10 | (a == 1) << 11;
    if (relations[i] != bits) test.expect(false, at("relation", relations[i] ^ bits, i));
  }
}

static void check_packed(Test& test, const Bits* second, const Bits* third, const std::vector<Bits>& out) {
  for (int i = 0; i < kAll; ++i) {
    for (int half = 0; half < 2; ++half) {
      double a = value_of(static_cast<Bits>(half ? i ^ 0x155 : i)), b = value_of(second[i]);
      double c = value_of(half ? second[i] : third[i]);
      double rounded = static_cast<double>(static_cast<_Float16>(a * b));
      double want[6] = {a + b, a - b, a * b, a * b + c, -a, rounded + c};
      // Whether the last is fused is the compiler's choice.
      for (int f = 0; f < 6; ++f) {
        Bits got = out[(2 * f + half) * kAll + i];
        bool fused = f == 5 && same(got, a * b + c);
        if (!same(got, want[f]) && !fused) test.expect(false, at("packed", f, i));
      }
    }
  }
}

static void check_functions(Test& test, const std::vector<float>& out) {
  for (int i = 0; i < kAll; ++i) {
    double a = value_of(static_cast<Bits>(i));
    double want[kFunctions + 1] = {std::ceil(a),     std::floor(a), std::trunc(a), std::rint(a), std::sqrt(a),
                                   1 / std::sqrt(a), 1 / a,         std::exp(a),   std::exp2(a), std::pow(10, a),
                                   std::log(a),      std::log2(a),  std::log10(a), std::sin(a),  std::cos(a)};
    for (int f = 0; f <= kFunctions; ++f) {
      double got = out[f * kAll + i];
      double rounded = static_cast<double>(static_cast<_Float16>(want[f]));
      if (rounded != rounded) {
        if (got == got) test.expect(false, at("function without NaN", f, i));
      } else if (std::isinf(rounded) || f < 4) {
        if (got != rounded) test.expect(false, at("function", f, i));
      } else {
        // One unit in the last place. CUDA's header adds one where its GPUs' approximations end on the wrong side.
        double unit = std::fmax(std::ldexp(1.0, std::ilogb(want[f] == 0 ? 1e-10 : want[f]) - 10), 0x1p-24);
        if (!(std::fabs(got - want[f]) <= unit * (kAsNamed ? 1.5 : 1))) test.expect(false, at("function", f, i));
      }
    }
  }
}

static void check_integers(Test& test, const std::vector<long long>& out, const std::vector<Bits>& back) {
  for (int i = 0; i < kAll; ++i) {
    double a = value_of(static_cast<Bits>(i));
    if (!(std::fabs(a) < 32000)) a = 1.5;
    double size = std::fabs(a);
    bool of_size[kIntegers] = {false, false, false, false, true, false, true, false, true, false};
    double want[kIntegers];
    for (int f = 0; f < kIntegers; ++f) want[f] = std::trunc(of_size[f] ? size : a);
    if (kAsNamed) {
      want[0] = std::rint(a);
      want[2] = std::floor(a);
      want[3] = std::ceil(a);
    }
    for (int f = 0; f < kIntegers; ++f) {
      if (static_cast<double>(out[f * kAll + i]) != want[f]) test.expect(false, at("integer", f, i));
    }
    if (!same(back[i], i - 30000)) test.expect(false, at("from integer", 0, i));
    if (!same(back[kAll + i], static_cast<float>(i) * 0x1p-9f - 50.0f)) test.expect(false, at("from float", 0, i));
    if (!same(back[2 * kAll + i], i * 0x1p-9 - 50.0)) test.expect(false, at("from double", 0, i));
    if (!same(back[3 * kAll + i], i * 2.0 - 65000)) test.expect(false, at("from long long", 0, i));
  }
}

int main() {
  Test test("half_operators");
  Random random(3);
  std::vector<Bits> second(kAll), third(kAll);
  for (int i = 0; i < kAll; ++i) {
    second[i] = static_cast<Bits>(random.bits());
    // Near the product, so that what it loses by rounding matters.
    double product = value_of(static_cast<Bits>(i)) * static_cast<double>(value_of(second[i]));
    _Float16 near = static_cast<_Float16>(-product);
    std::memcpy(&third[i], &near, sizeof near);
    if (i % 4 == 0 || is_nan(third[i])) third[i] = static_cast<Bits>(random.bits());
  }
  Bits *device_second = to_device(second), *device_third = to_device(third);
  Bits* out = device_array<Bits>(kAll * 12);
  unsigned* relations = device_array<unsigned>(kAll);
  float* wide = device_array<float>(kAll * (kFunctions + 1));
  long long* whole = device_array<long long>(kAll * kIntegers);
  Bits* back = device_array<Bits>(kAll * 4);

  arithmetic<<<kAll / 256, 256>>>(device_second, device_third, out, relations);
  check_arithmetic(test, second.data(), third.data(), to_host(out, kAll * kArithmetic), to_host(relations, kAll));
  packed<<<kAll / 256, 256>>>(device_second, device_third, out);
  check_packed(test, second.data(), third.data(), to_host(out, kAll * 12));
  functions<<<kAll / 256, 256>>>(wide);
  check_functions(test, to_host(wide, kAll * (kFunctions + 1)));
  integers<<<kAll / 256, 256>>>(whole, back);
  check_integers(test, to_host(whole, kAll * kIntegers), to_host(back, kAll * 4));
  check(hipGetLastError());

  for (void* memory :
       {static_cast<void*>(device_second), static_cast<void*>(device_third), static_cast<void*>(out),
        static_cast<void*>(relations), static_cast<void*>(wide), static_cast<void*>(whole), static_cast<void*>(back)}) {
    check(hipFree(memory));
  }
  return test.finish();
}
