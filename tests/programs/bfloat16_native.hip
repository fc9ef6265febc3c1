// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler's own bfloat16: rounding to it from floats and doubles, once, and arithmetic.

#include "check.h"

constexpr int kAll = 1 << 14;

struct Results {
  unsigned short from_float, from_double, sum;
};

__global__ void round_to(const float* floats, const double* doubles, Results* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __bf16 from_float = static_cast<__bf16>(floats[i]), from_double = static_cast<__bf16>(doubles[i]);
  __bf16 sum = from_float + from_double;
  out[i] = {__builtin_bit_cast(unsigned short, from_float), __builtin_bit_cast(unsigned short, from_double),
            __builtin_bit_cast(unsigned short, sum)};
}

static float value_of(unsigned upper) {
  upper <<= 16;
  float x;
  std::memcpy(&x, &upper, sizeof x);
  return x;
}

// To the nearest of the two on either side, to the even one if both are as near.
static unsigned short rounded(double x) {
  auto sign = static_cast<unsigned short>(std::signbit(x) ? 0x8000 : 0);
  double size = std::fabs(x), after_largest = 0x1p128;
  unsigned low = 0, high = 0x7f80;
  while (high - low > 1) {
    unsigned middle = (low + high) / 2;
    (value_of(middle) <= size ? low : high) = middle;
  }
  double above = high == 0x7f80 ? after_largest : value_of(high);
  if (!std::isfinite(size)) return sign | 0x7f80;
  double to_low = size - value_of(low), to_high = above - size;
  bool up = to_high < to_low || (to_high == to_low && low % 2);
  return static_cast<unsigned short>(sign | (up ? high : low));
}

static bool same(unsigned short got, double want) {
  return want != want ? value_of(got) != value_of(got) : got == rounded(want);
}

int main() {
  Test test("bfloat16_native");
  Random random(7);
  std::vector<float> floats(kAll);
  std::vector<double> doubles(kAll);
  for (int i = 0; i < kAll; ++i) {
    unsigned bits = static_cast<unsigned>(random.bits());
    if (i % 3 == 0) bits = (bits & 0xffff0000) | 0x8000;  // halfway
    std::memcpy(&floats[i], &bits, sizeof bits);
    doubles[i] = floats[i];
    if (i % 2) doubles[i] = std::nextafter(doubles[i], i % 4 == 1 ? 0.0 : 1e308);  // or so near that a float is halfway
  }
  doubles[0] = 1e300;
  doubles[1] = -1e-300;
  float* device_floats = to_device(floats);
  double* device_doubles = to_device(doubles);
  Results* out = device_array<Results>(kAll);
  round_to<<<kAll / 256, 256>>>(device_floats, device_doubles, out);
  check(hipGetLastError());
  std::vector<Results> got = to_host(out, kAll);
  for (int i = 0; i < kAll; ++i) {
    std::string at = " of " + std::to_string(i);
    test.expect(same(got[i].from_float, floats[i]), "float" + at);
    test.expect(same(got[i].from_double, doubles[i]), "double" + at);
    float sum = value_of(got[i].from_float) + value_of(got[i].from_double);
    test.expect(same(got[i].sum, sum), "sum" + at);
  }
  check(hipFree(device_floats));
  check(hipFree(device_doubles));
  check(hipFree(out));
  return test.finish();
}
