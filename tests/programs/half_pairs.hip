// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What HIP has for two halves at a time, against the function for one, which half_operators tries on every number; and
// every comparison of halves, against the compiler's type on the host.

#include <hip/hip_fp16.h>

#include "check.h"

using Bits = unsigned short;

__device__ __half from_bits(Bits bits) { return __ushort_as_half(bits); }

__device__ bool is_nan(Bits bits) { return (bits & 0x7fff) > 0x7c00; }
// As numbers `units` apart at most.
__device__ bool same(__half2 pair, __half low, __half high, int units = 0) {
  Bits got[] = {__half_as_ushort(__low2half(pair)), __half_as_ushort(__high2half(pair))};
  Bits want[] = {__half_as_ushort(low), __half_as_ushort(high)};
  for (int i = 0; i < 2; ++i) {
    if (abs(got[i] - want[i]) > units && !(is_nan(got[i]) && is_nan(want[i]))) return false;
  }
  return true;
}

// Each number's bit is set where the pair is what two single ones are.
__global__ void functions(const Bits* x, const Bits* y, const Bits* z, unsigned long long* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half a = from_bits(x[i]), b = from_bits(y[i]), c = from_bits(z[i]);
  __half2 ab = __halves2half2(a, b), bc = make_half2(b, c), ca = __halves2half2(c, a);
  unsigned long long agree = 0, bit = 1;
  auto expect = [&](bool ok) {
    agree |= ok ? bit : 0;
    bit <<= 1;
  };
  expect(same(h2ceil(ab), hceil(a), hceil(b)));
  expect(same(h2floor(ab), hfloor(a), hfloor(b)));
  expect(same(h2trunc(ab), htrunc(a), htrunc(b)));
  expect(same(h2rint(ab), hrint(a), hrint(b)));
  expect(same(h2sqrt(ab), hsqrt(a), hsqrt(b)));
  expect(same(h2rsqrt(ab), hrsqrt(a), hrsqrt(b)));
  expect(same(h2rcp(ab), hrcp(a), hrcp(b)));
  expect(same(h2exp(ab), hexp(a), hexp(b)));
  expect(same(h2exp2(ab), hexp2(a), hexp2(b)));
  expect(same(h2exp10(ab), hexp10(a), hexp10(b)));
  // The device library rounds the products of logarithms at different places.
  expect(same(h2log(ab), hlog(a), hlog(b), 1));
  expect(same(h2log2(ab), hlog2(a), hlog2(b), 1));
  expect(same(h2log10(ab), hlog10(a), hlog10(b), 1));
  expect(same(h2sin(ab), hsin(a), hsin(b)));
  expect(same(h2cos(ab), hcos(a), hcos(b)));
  expect(same(__habs2(ab), __habs(a), __habs(b)));
  expect(same(__h2div(ab, bc), __hdiv(a, b), __hdiv(b, c)));
  expect(same(__hadd2_sat(ab, bc), __hadd_sat(a, b), __hadd_sat(b, c)));
  expect(same(__hsub2_sat(ab, bc), __hsub_sat(a, b), __hsub_sat(b, c)));
  expect(same(__hmul2_sat(ab, bc), __hmul_sat(a, b), __hmul_sat(b, c)));
  expect(same(__hfma2_sat(ab, bc, ca), __hfma_sat(a, b, c), __hfma_sat(b, c, a)));
  expect(same(__hsub2(ab, bc), __hsub(a, b), __hsub(b, c)));
  __half2 nan = __hisnan2(ab), infinite = __hisinf2(ab);
  expect((__low2float(nan) != 0) == __hisnan(a) && (__high2float(nan) != 0) == __hisnan(b));
  expect((__low2float(infinite) != 0) == __hisinf(a) && (__high2float(infinite) != 0) == __hisinf(b));
  expect(same(__low2half2(ab), a, a));
  expect(same(__high2half2(ab), b, b));
  expect(same(__lows2half2(ab, ca), a, c));
  expect(same(__highs2half2(ab, ca), b, a));
  expect(same(__lowhigh2highlow(ab), b, a));
  // Of global memory only, CUDA's at least.
  const auto* one = reinterpret_cast<const __half*>(x) + i;
  const auto* two = reinterpret_cast<const __half2*>(x) + i / 2;
  __half even = from_bits(x[i / 2 * 2]), odd = from_bits(x[i / 2 * 2 + 1]);
  expect(same(__ldg(two), even, odd) && same(__ldcg(two), even, odd) && same(__ldca(two), even, odd) &&
         same(__ldcs(two), even, odd));
  expect(same(__halves2half2(__ldg(one), __ldcg(one)), a, a) && same(__halves2half2(__ldca(one), __ldcs(one)), a, a));
  float2 wide = __half22float2(ab);
  expect(same(__float22half2_rn(wide), a, b));
  expect(same(__floats2half2_rn(wide.x, wide.y), a, b));
  expect(same(__float2half2_rn(wide.y), b, b));
  expect(same(__halves2half2(__float2half_rn(__low2float(ab)), __float2half_rn(__high2float(ab))), a, b));
  expect(same(__halves2half2(__clamp_01(a), __hadd_sat(b, 0)), __hadd_sat(a, 0), __clamp_01(b)));
  out[i] = agree;
}
constexpr int kFunctions = 36;

// Of two halves, in the order of the host's list.
__global__ void comparisons(const Bits* x, const Bits* y, unsigned* scalar, unsigned* packed, unsigned* both) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half a = from_bits(x[i]), b = from_bits(y[i]);
  __half2 ab = __halves2half2(a, b), ba = __halves2half2(b, a);
  scalar[i] = __heq(a, b) | __hne(a, b) << 1 | __hlt(a, b) << 2 | __hle(a, b) << 3 | __hgt(a, b) << 4 |
              __hge(a, b) << 5 | __hequ(a, b) << 6 | __hneu(a, b) << 7 | __hltu(a, b) << 8 | __hleu(a, b) << 9 |
              __hgtu(a, b) << 10 | __hgeu(a, b) << 11;
  const __half2 pairs[] = {__heq2(ab, ba),  __hne2(ab, ba),  __hlt2(ab, ba),  __hle2(ab, ba),
                           __hgt2(ab, ba),  __hge2(ab, ba),  __hequ2(ab, ba), __hneu2(ab, ba),
                           __hltu2(ab, ba), __hleu2(ab, ba), __hgtu2(ab, ba), __hgeu2(ab, ba)};
  packed[i] = 0;
  for (int f = 0; f < 12; ++f) {
    packed[i] |= (__low2float(pairs[f]) != 0) << f | (__high2float(pairs[f]) != 0) << (f + 12);
  }
  both[i] = __hbeq2(ab, ba) | __hbne2(ab, ba) << 1 | __hblt2(ab, ba) << 2 | __hble2(ab, ba) << 3 |
            __hbgt2(ab, ba) << 4 | __hbge2(ab, ba) << 5 | __hbequ2(ab, ba) << 6 | __hbneu2(ab, ba) << 7 |
            __hbltu2(ab, ba) << 8 | __hbleu2(ab, ba) << 9 | __hbgtu2(ab, ba) << 10 | __hbgeu2(ab, ba) << 11;
}

static float value_of(Bits bits) {
  _Float16 value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

static unsigned relations(float a, float b) {
  unsigned six = unsigned(a == b) | unsigned(a != b) << 1 | unsigned(a < b) << 2 | unsigned(a <= b) << 3 |
                 unsigned(a > b) << 4 | unsigned(a >= b) << 5;
#ifdef __HIP__  // whose headers have the unordered comparisons do what the ordered ones do
  return six | six << 6;
#else  // and whose __hne is one that says no of what is unordered
  bool unordered = a != a || b != b;
  return unordered ? 0x3fu << 6 : six | six << 6;
#endif
}

int main() {
  Test test("half_pairs");
  Random random(23);
  constexpr int n = 4096;
  std::vector<Bits> x(n), y(n), z(n);
  for (int i = 0; i < n; ++i) {
    x[i] = static_cast<Bits>(i % 5 ? random.bits() : 0x3c00 + random.below(4));
    y[i] = static_cast<Bits>(i % 7 == 0 ? x[i] : random.bits());
    z[i] = static_cast<Bits>(random.bits());
  }
  Bits *a = to_device(x), *b = to_device(y), *c = to_device(z);
  auto* agree = device_array<unsigned long long>(n);
  functions<<<n / 128, 128>>>(a, b, c, agree);
  check(hipGetLastError());
  for (unsigned long long each : to_host(agree, n)) test.equal("pairs as single", each, (1ull << kFunctions) - 1);

  unsigned* relation[3];
  for (auto& out : relation) out = device_array<unsigned>(n);
  comparisons<<<n / 128, 128>>>(a, b, relation[0], relation[1], relation[2]);
  check(hipGetLastError());
  std::vector<unsigned> scalar(n), packed(n), both(n);
  for (int i = 0; i < n; ++i) {
    float u = value_of(x[i]), v = value_of(y[i]);
    scalar[i] = relations(u, v);
    packed[i] = relations(u, v) | relations(v, u) << 12;
    both[i] = relations(u, v) & relations(v, u);
  }
  test.equal("comparisons", to_host(relation[0], n), scalar);
  test.equal("comparisons of pairs", to_host(relation[1], n), packed);
  test.equal("comparisons of both", to_host(relation[2], n), both);
  return test.finish();
}
