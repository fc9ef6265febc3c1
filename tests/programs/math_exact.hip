// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions whose result is exact, on numbers of every kind, denormals, infinities and NaN among them: taking numbers
// apart and putting them together, rounding to integers, classification, remainders, fused multiply-add.

#include <limits>

#include "check.h"

constexpr int kFloating = 14;
constexpr int kIntegers = 11;

template <class T>
__device__ void evaluate(T x, T y, int k, T* floating, long long* integers, int stride) {
  int exponent, quotient;
  T whole;
  T* f = floating;
  auto give = [&](T value) {
    *f = value == value ? value : std::numeric_limits<T>::quiet_NaN();  // which NaN is not laid down
    f += stride;
  };
  give(frexp(x, &exponent));
  give(modf(x, &whole));
  give(whole);
  give(ldexp(x, k));
  give(scalbn(x, -k));
  give(scalbln(x, static_cast<long>(k)));
  give(logb(x));
  give(nextafter(x, y));
  give(remquo(x, y, &quotient));
  give(fmod(x, y));
  give(fma(x, y, -(x * y)));  // the rounding error of the product
  give(fdim(x, y));
  give(copysign(y, x));
  give(fabs(x));
  // Out-of-range conversions are left alone.
  T small = fabs(x) < T(1e9) ? x : T(0.5);
  long long* n = integers;
  for (long long value :
       {static_cast<long long>(exponent), static_cast<long long>(quotient & 7), static_cast<long long>(lrint(small)),
        static_cast<long long>(lround(small)), llrint(small), llround(small), static_cast<long long>(ilogb(x)),
        static_cast<long long>(std::isnan(x) + 2 * std::isinf(x) + 4 * std::isfinite(x) + 8 * std::isnormal(x)),
        static_cast<long long>(std::signbit(x)), static_cast<long long>(std::fpclassify(x)),
        static_cast<long long>(std::isless(x, y) + 2 * std::isgreater(x, y) + 4 * std::isunordered(x, y))}) {
    *n = value;
    n += stride;
  }
}

template <class T>
__global__ void take_apart(const T* x, const T* y, const int* k, T* floating, long long* integers, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) evaluate(x[i], y[i], k[i], floating + i, integers + i, n);
}

template <class T>
__global__ void make_nan(T* out) {
  out[0] = sizeof(T) == 4 ? static_cast<T>(nanf("")) : static_cast<T>(nan(""));
  out[1] = std::numeric_limits<T>::quiet_NaN();
}

template <class T>
static std::vector<T> numbers(Random& random, int n) {
  using Limits = std::numeric_limits<T>;
  const T special[] = {0,
                       T(-0.0),
                       1,
                       T(-1.5),
                       T(2.5),
                       T(0.49999999),
                       T(1e8) + T(0.5),
                       Limits::infinity(),
                       -Limits::infinity(),
                       Limits::quiet_NaN(),
                       Limits::min(),
                       Limits::denorm_min(),
                       -Limits::denorm_min() * 5,
                       Limits::max(),
                       Limits::lowest()};
  std::vector<T> values(n);
  for (int i = 0; i < n; ++i) {
    std::uint64_t bits = random.bits();
    switch (i % 4) {
      case 0:
        values[i] = special[random.below(sizeof special / sizeof special[0])];
        break;
      case 1:
        std::memcpy(&values[i], &bits, sizeof(T));
        break;
      case 2:
        values[i] = random.between(T(-1000), T(1000));
        break;
      default:
        values[i] = std::ldexp(T(1), static_cast<int>(random.below(60)) - 30) * (bits % 2 ? T(0.5) : T(-3));
    }
  }
  return values;
}

// Equal to the bit, but for what a NaN looks like.
template <class T>
static bool same(T a, T b) {
  if (a != a || b != b) return a != a && b != b;
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <class T>
static void run(Test& test, const char* type) {
  const int n = 20000;
  Random random(7);
  std::vector<T> x = numbers<T>(random, n), y = numbers<T>(random, n);
  for (int i = 0; i + 5 < n; i += 9) y[i] = x[i + 5];
  std::vector<int> k(n);
  for (int& value : k) value = static_cast<int>(random.below(random.below(2) ? 5000 : 40)) - 20;
  for (int i = 0; i < n; i += 3) k[i] = -k[i];

  T *device_x = to_device(x), *device_y = to_device(y);
  int* device_k = to_device(k);
  T* device_floating = device_array<T>(n * kFloating);
  long long* device_integers = device_array<long long>(n * kIntegers);
  take_apart<<<blocks_for(n, 128), 128>>>(device_x, device_y, device_k, device_floating, device_integers, n);
  check(hipGetLastError());
  std::vector<T> floating = to_host(device_floating, n * kFloating);
  std::vector<long long> integers = to_host(device_integers, n * kIntegers);

  for (int i = 0; i < n; ++i) {
    T a = x[i], b = y[i];
    int exponent, quotient = 0;
    T whole;
    T mantissa = std::frexp(a, &exponent);
    T fraction = std::modf(a, &whole);
    T rest = std::remquo(a, b, &quotient);
    bool finite = std::isfinite(a);
    T want[kFloating] = {mantissa,
                         fraction,
                         whole,
                         std::ldexp(a, k[i]),
                         std::ldexp(a, -k[i]),
                         std::ldexp(a, k[i]),
                         std::logb(a),
                         std::nextafter(a, b),
                         rest,
                         std::fmod(a, b),
                         std::fma(a, b, -(a * b)),
                         std::fdim(a, b),
                         std::copysign(b, a),
                         std::fabs(a)};
    T small = std::fabs(a) < T(1e9) ? a : T(0.5);
    bool divides = finite && b != 0 && b == b;
    long long counts[kIntegers] = {
        finite ? exponent : integers[i],
        // Of the quotient, which may be huge, the low bits and the sign count.
        divides && std::isfinite(b) ? (quotient & 7) : integers[n + i], std::lrint(small), std::lround(small),
        std::llrint(small), std::llround(small), finite && a != 0 ? std::ilogb(a) : integers[6 * n + i],
        std::isnan(a) + 2 * std::isinf(a) + 4 * std::isfinite(a) + 8 * std::isnormal(a), std::signbit(a),
        std::fpclassify(a), std::isless(a, b) + 2 * std::isgreater(a, b) + 4 * std::isunordered(a, b)};
    auto where = [&](const char* what, int f, double got, double expected) {
      char text[200];
      std::snprintf(text, sizeof text, "%s %s %d of (%a, %a, %d) is %a, not %a", type, what, f, double(a), double(b),
                    k[i], got, expected);
      return std::string(text);
    };
    for (int f = 0; f < kFloating; ++f) {
      T got = floating[f * n + i];
      if (!same(got, want[f])) test.expect(false, where("result", f, got, want[f]));
    }
    for (int f = 0; f < kIntegers; ++f) {
      long long got = integers[f * n + i];
      if (got != counts[f]) test.expect(false, where("integer", f, double(got), double(counts[f])));
    }
  }

  T* device_nan = device_array<T>(2);
  make_nan<<<1, 1>>>(device_nan);
  check(hipGetLastError());
  for (T value : to_host(device_nan, 2)) test.expect(value != value, "a NaN is none");
  check(hipFree(device_x));
  check(hipFree(device_y));
  check(hipFree(device_k));
  check(hipFree(device_floating));
  check(hipFree(device_integers));
  check(hipFree(device_nan));
}

int main() {
  Test test("math_exact");
  run<float>(test, "float");
  run<double>(test, "double");
  return test.finish();
}
