// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two half-precision numbers at a time: arithmetic, comparisons and conversions that pack, dot products; against the
// same in double precision, rounded. And AMD's instructions for steps of arithmetic.
#include "check.h"
// After the runtime's header.
#include <hip/hip_fp16.h>

constexpr unsigned kAnswers = 20;
using Pair = _Float16 __attribute__((ext_vector_type(2)));

__device__ unsigned bits(__half2 x) {
  unsigned result;
  __builtin_memcpy(&result, &x, sizeof result);
  return result;
}
__device__ unsigned bits(float x) { return __float_as_uint(x); }

__global__ void compute(const float* in, unsigned* out, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
  __half2 x = __floats2half2_rn(a, b), y = __floats2half2_rn(c, a), z = __float2half2_rn(b);
  out += kAnswers * i;
  *out++ = bits(x);
  *out++ = bits(__hadd2(x, y));
  *out++ = bits(__hsub2(x, y));
  *out++ = bits(__hmul2(x, y));
  *out++ = bits(__hneg2(x));
  *out++ = bits(__lows2half2(x, y));
  *out++ = bits(__highs2half2(x, y));
  *out++ = bits(__lowhigh2highlow(x));
  *out++ = bits(__hgt2(x, y));
  *out++ = bits(__low2float(z));
  *out++ = bits(__high2float(x));
  *out++ = __hble2(x, y);
  auto packed = __builtin_amdgcn_cvt_pkrtz(a, b);
  __builtin_memcpy(out++, &packed, sizeof packed);
  auto signed_steps = __builtin_amdgcn_cvt_pknorm_i16(a, b);
  __builtin_memcpy(out++, &signed_steps, sizeof signed_steps);
  auto steps = __builtin_amdgcn_cvt_pknorm_u16(a, b);
  __builtin_memcpy(out++, &steps, sizeof steps);
  auto limited = __builtin_amdgcn_cvt_pk_i16(static_cast<int>(a * 9), static_cast<int>(b));
  __builtin_memcpy(out++, &limited, sizeof limited);
  *out++ = __builtin_amdgcn_cvt_pk_u8_f32(a, i, 0x11223344);
  *out++ = bits(__builtin_amdgcn_fmed3f(a, b, c));
  Pair p = {static_cast<_Float16>(a), static_cast<_Float16>(b)}, q = {static_cast<_Float16>(c), 2};
  float dot = __builtin_amdgcn_fdot2(p, q, 0.0f, false);
  *out++ = bits(dot);
  *out++ = bits(__builtin_amdgcn_fractf(a));
}

unsigned half_bits(double x) {
  _Float16 rounded = static_cast<_Float16>(x);
  std::uint16_t result;
  std::memcpy(&result, &rounded, sizeof result);
  return result;
}
double number(double x) { return static_cast<double>(static_cast<_Float16>(x)); }
unsigned single(float x) {
  unsigned result;
  std::memcpy(&result, &x, sizeof result);
  return result;
}
unsigned pair(unsigned low, unsigned high) { return low | high << 16; }
unsigned towards_zero(double x) {
  unsigned result = half_bits(x);
  return std::fabs(number(x)) > std::fabs(x) ? result - 1 : result;
}
unsigned steps(double x, double low, double count) {
  double inside = std::fmin(std::fmax(x, low), 1.0);
  return static_cast<unsigned>(
             static_cast<int>(std::nearbyint(static_cast<float>(inside) * static_cast<float>(count)))) &
         0xffff;
}
unsigned limited(double x) {
  return static_cast<unsigned>(static_cast<int>(std::fmin(std::fmax(x, -32768), 32767))) & 0xffff;
}

std::vector<unsigned> expected(float a, float b, float c, unsigned i) {
  double x0 = number(a), x1 = number(b), y0 = number(c), y1 = number(a);
  std::vector<unsigned> out;
  out.push_back(pair(half_bits(x0), half_bits(x1)));
  out.push_back(pair(half_bits(x0 + y0), half_bits(x1 + y1)));
  out.push_back(pair(half_bits(x0 - y0), half_bits(x1 - y1)));
  out.push_back(pair(half_bits(x0 * y0), half_bits(x1 * y1)));
  out.push_back(pair(half_bits(-x0), half_bits(-x1)));
  out.push_back(pair(half_bits(x0), half_bits(y0)));
  out.push_back(pair(half_bits(x1), half_bits(y1)));
  out.push_back(pair(half_bits(x1), half_bits(x0)));
  out.push_back(pair(half_bits(x0 > y0), half_bits(x1 > y1)));
  out.push_back(single(static_cast<float>(x1)));
  out.push_back(single(static_cast<float>(x1)));
  out.push_back(x0 <= y0 && x1 <= y1);
  out.push_back(pair(towards_zero(a), towards_zero(b)));
  out.push_back(pair(steps(a, -1, 32767), steps(b, -1, 32767)));
  out.push_back(pair(steps(a, 0, 65535), steps(b, 0, 65535)));
  out.push_back(pair(limited(std::trunc(a * 9)), limited(std::trunc(b))));
  unsigned place = 8 * (i % 4), byte = static_cast<unsigned>(std::fmin(std::fmax(a, 0), 255));
  out.push_back((0x11223344u & ~(255u << place)) | byte << place);
  out.push_back(single(std::fmax(std::fmin(a, b), std::fmin(std::fmax(a, b), c))));
  out.push_back(single(static_cast<float>(x0 * y0 + x1 * 2)));
  out.push_back(single(a - std::floor(a)));
  return out;
}

int main() {
  Test test("packed_math");
  std::vector<float> in;
  Random random(16);
  for (unsigned i = 0; i < 3 * 600; ++i) {
    // Of few bits, so that sums of products are exact, and never zero; some beyond what halves hold.
    float value = static_cast<float>(static_cast<int>(random.below(512) | 1) - 256) / (random.below(2) ? 128.0f : 4.0f);
    in.push_back(i % 99 == 0 ? value * 4099 : value);
  }
  unsigned n = static_cast<unsigned>(in.size() / 3);
  float* device_in = to_device(in);
  unsigned* device_out = device_array<unsigned>(kAnswers * n);
  compute<<<blocks_for(n, 64), 64>>>(device_in, device_out, n);
  std::vector<unsigned> got = to_host(device_out, kAnswers * n);
  for (unsigned i = 0; i < n; ++i) {
    std::vector<unsigned> want = expected(in[3 * i], in[3 * i + 1], in[3 * i + 2], i);
    test.equal("answers", static_cast<unsigned>(want.size()), kAnswers);
    for (unsigned k = 0; k < kAnswers; ++k) {
      test.equal(("operation " + std::to_string(k) + " of triple " + std::to_string(i)).c_str(), got[kAnswers * i + k],
                 want[k]);
    }
  }
  check(hipFree(device_in));
  check(hipFree(device_out));
  return test.finish();
}
