// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hip_bfloat16: every number of it, rounding to it, arithmetic and comparisons.

#include <hip/hip_bfloat16.h>

#include "check.h"

constexpr int kAll = 1 << 16;
constexpr int kArithmetic = 8;

__global__ void convert(const float* values, unsigned short* nearest, unsigned short* truncated, float* wide) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  nearest[i] = hip_bfloat16(values[i]).data;
  truncated[i] = hip_bfloat16(values[i], hip_bfloat16::truncate).data;
  hip_bfloat16 number;
  number.data = static_cast<unsigned short>(i);
  wide[i] = number;
}

__global__ void arithmetic(const unsigned short* second, unsigned short* out, unsigned* relations) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  hip_bfloat16 a, b;
  a.data = static_cast<unsigned short>(i);
  b.data = second[i];
  hip_bfloat16 sum = a;
  sum += b;
  hip_bfloat16 next = a;
  ++next;
  unsigned short results[kArithmetic] = {sum.data,
                                         (a - b).data,
                                         (a * b).data,
                                         (a / b).data,
                                         (-a).data,
                                         next.data,
                                         hip_bfloat16(fabsf(a)).data,
                                         hip_bfloat16(sinf(b)).data};
  for (int f = 0; f < kArithmetic; ++f) {
    bool is_nan = (results[f] & 0x7fff) > 0x7f80;  // which NaN arithmetic gives is not laid down
    out[f * kAll + i] = is_nan ? 0x7fc0 : results[f];
  }
  relations[i] = (a < b) | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 | (a > b) << 4 | (a >= b) << 5 |
                 std::isnan(a) << 6 | std::isinf(b) << 7 | std::iszero(a) << 8;
}

static unsigned bits_of(float x) {
  unsigned bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

static float value_of(unsigned bits) {
  bits <<= 16;
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

static unsigned short rounded(float x) {
  unsigned bits = bits_of(x);
  if (x != x) return static_cast<unsigned short>(bits >> 16 | 1);
  return static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// NaNs need not look alike.
static bool same(unsigned short got, float want) {
  return want != want ? value_of(got) != value_of(got) : got == rounded(want);
}

int main() {
  Test test("bfloat16");
  Random random(5);
  std::vector<float> values(kAll);
  std::vector<unsigned short> second(kAll);
  for (int i = 0; i < kAll; ++i) {
    unsigned bits = static_cast<unsigned>(random.bits());
    if (i % 3 == 0) bits = (bits & 0xffff0000) | 0x8000;  // halfway
    std::memcpy(&values[i], &bits, sizeof bits);
    second[i] = static_cast<unsigned short>(random.bits());
  }
  float* device_values = to_device(values);
  unsigned short* device_second = to_device(second);
  unsigned short *nearest = device_array<unsigned short>(kAll), *truncated = device_array<unsigned short>(kAll);
  float* wide = device_array<float>(kAll);
  unsigned short* out = device_array<unsigned short>(kAll * kArithmetic);
  unsigned* relations = device_array<unsigned>(kAll);
  convert<<<kAll / 256, 256>>>(device_values, nearest, truncated, wide);
  arithmetic<<<kAll / 256, 256>>>(device_second, out, relations);
  check(hipGetLastError());

  auto got_nearest = to_host(nearest, kAll), got_truncated = to_host(truncated, kAll);
  auto got_wide = to_host(wide, kAll);
  auto got = to_host(out, kAll * kArithmetic);
  auto got_relations = to_host(relations, kAll);
  for (int i = 0; i < kAll; ++i) {
    std::string at = " of " + std::to_string(i);
    test.expect(same(got_nearest[i], values[i]), "rounding" + at);
    bool quiet = values[i] == values[i] || got_truncated[i] != 0;
    test.expect(values[i] != values[i] ? quiet : got_truncated[i] == bits_of(values[i]) >> 16, "truncation" + at);
    float a = value_of(static_cast<unsigned>(i)), b = value_of(second[i]);
    test.expect(a != a ? got_wide[i] != got_wide[i] : bits_of(got_wide[i]) == bits_of(a), "float" + at);
    const float want[kArithmetic - 1] = {a + b, a - b, a * b, a / b, -a, a + 1.0f, std::fabs(a)};
    for (int f = 0; f < kArithmetic - 1; ++f) {
      test.expect(same(got[f * kAll + i], want[f]), "arithmetic " + std::to_string(f) + at);
    }
    float sine = value_of(got[(kArithmetic - 1) * kAll + i]);
    bool close = std::isfinite(b) ? std::fabs(sine - std::sin(b)) <= std::fabs(std::sin(b)) * 0x1p-8f : sine != sine;
    test.expect(close, "sine" + at);
    // The header defines <= and >= by what they are not.
    unsigned relation = (a < b) | !(a > b) << 1 | (a == b) << 2 | (a != b) << 3 | (a > b) << 4 | !(a < b) << 5 |
                        std::isnan(a) << 6 | std::isinf(b) << 7 | (a == 0) << 8;
    test.expect(got_relations[i] == relation, "relation" + at);
  }
  check(hipFree(device_values));
  check(hipFree(device_second));
  check(hipFree(nearest));
  check(hipFree(truncated));
  check(hipFree(wide));
  check(hipFree(out));
  check(hipFree(relations));
  return test.finish();
}
