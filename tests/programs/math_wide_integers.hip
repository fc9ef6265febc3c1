// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integers of 64 and 128 bits, and HIP's integer intrinsics, against plain C++ on the host.

#include "check.h"

using U64 = unsigned long long;
using I64 = long long;
using U128 = unsigned __int128;
using I128 = __int128;
#ifdef __HIP__
using Sum = unsigned;  // of two integers that are halved: it wraps in HIP, unlike CUDA
#else
using Sum = U64;
#endif

constexpr int kWide = 16;
constexpr int kIntrinsics = 26;

__host__ __device__ inline U64 upper_part(U128 x) {
#ifdef __HIP__
  return static_cast<U64>(static_cast<double>(x) * 0x1p-70);
#else  // for which LLVM cannot make such a number of such an integer
  return static_cast<U64>(x >> 70);
#endif
}

__host__ __device__ inline void wide(U64 a, U64 b, U64 c, U64 (&out)[kWide]) {
  U128 x = static_cast<U128>(a) << 64 | b;
  U128 product = x * c;
  I128 negative = -static_cast<I128>(x >> 3);
  U128 quotient = x / (c | 1), rest = x % (c | 1);
  I128 signed_quotient = negative / static_cast<I128>((c >> 5) | 1);
  U128 shifted = x << (c & 127), back = x >> (a & 127);
  I128 arithmetic = negative >> (b & 127);
  U64 results[kWide] = {static_cast<U64>(product >> 64),
                        static_cast<U64>(product),
                        static_cast<U64>(quotient >> 64),
                        static_cast<U64>(quotient),
                        static_cast<U64>(rest),
                        static_cast<U64>(signed_quotient),
                        static_cast<U64>(static_cast<U128>(signed_quotient) >> 64),
                        static_cast<U64>(shifted >> 64),
                        static_cast<U64>(back),
                        static_cast<U64>(arithmetic),
                        a / (c | 1),
                        a % (c | 1),
                        static_cast<U64>(static_cast<I64>(a) / static_cast<I64>((b >> 1) | 1)),
                        static_cast<U64>(static_cast<I64>(a) % static_cast<I64>((b >> 1) | 1)),
                        static_cast<U64>(x < (static_cast<U128>(b) << 64 | a)),
                        upper_part(x)};
  for (int f = 0; f < kWide; ++f) out[f] = results[f];
}

__global__ void intrinsics(const U64* x, const U64* y, const U64* z, U64* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  U64 a = x[i], b = y[i], c = z[i];
  unsigned u = static_cast<unsigned>(a), v = static_cast<unsigned>(b), w = static_cast<unsigned>(c);
  int s = static_cast<int>(u), t = static_cast<int>(v);
  U64 results[kIntrinsics] = {static_cast<U64>(__clz(s)),
                              static_cast<U64>(__clzll(static_cast<I64>(a))),
                              static_cast<U64>(__ffs(s)),
                              static_cast<U64>(__ffsll(static_cast<I64>(a))),
                              static_cast<U64>(__popc(u)),
                              static_cast<U64>(__popcll(a)),
                              __brev(u),
                              __brevll(a),
                              __umul64hi(a, b),
                              static_cast<U64>(__mul64hi(static_cast<I64>(a), static_cast<I64>(b))),
                              __umulhi(u, v),
                              static_cast<U64>(static_cast<I64>(__mulhi(s, t))),
                              static_cast<U64>(static_cast<I64>(__mul24(s, t))),
                              static_cast<unsigned>(__umul24(u, v)),
                              __byte_perm(u, v, w),
                              __funnelshift_l(u, v, w),
                              __funnelshift_lc(u, v, w),
                              __funnelshift_r(u, v, w),
                              __funnelshift_rc(u, v, w),
                              static_cast<unsigned>(__uhadd(u, v)),
                              static_cast<unsigned>(__urhadd(u, v)),
                              static_cast<unsigned>(__sad(s >> 1, t >> 1, w)),
                              static_cast<unsigned>(__usad(u, v, w)),
                              __lastbit_u32_u64(a),
                              __bitextract_u64(a, 7, 40),
                              __bitinsert_u64(a, b, 9, 33)};
  for (int f = 0; f < kIntrinsics; ++f) out[f * n + i] = results[f];
}

__global__ void wide_integers(const U64* x, const U64* y, const U64* z, U64* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  U64 results[kWide];
  wide(x[i], y[i], z[i], results);
  for (int f = 0; f < kWide; ++f) out[f * n + i] = results[f];
}

static U64 reversed(U64 x, int bits) {
  U64 result = 0;
  for (int i = 0; i < bits; ++i) result |= (x >> i & 1) << (bits - 1 - i);
  return result;
}

static void expected(U64 a, U64 b, U64 c, U64 (&out)[kIntrinsics]) {
  unsigned u = static_cast<unsigned>(a), v = static_cast<unsigned>(b), w = static_cast<unsigned>(c);
  I64 s = static_cast<int>(u), t = static_cast<int>(v);
  U64 both = static_cast<U64>(v) << 32 | u;  // for the funnel shifts: v is the high part
  unsigned clamped = w < 32 ? w : 32;
  unsigned bytes = 0;
  for (int i = 0; i < 4; ++i) bytes |= static_cast<unsigned>(both >> (8 * (w >> (4 * i) & 7)) & 0xff) << (8 * i);
  I64 low_s = static_cast<int>(u << 8) >> 8, low_t = static_cast<int>(v << 8) >> 8;
  U64 mask = ((1ULL << 33) - 1) << 9;
  U64 results[kIntrinsics] = {
      static_cast<U64>(u ? __builtin_clz(u) : 32),
      static_cast<U64>(a ? __builtin_clzll(a) : 64),
      static_cast<U64>(__builtin_ffs(static_cast<int>(u))),
      static_cast<U64>(__builtin_ffsll(static_cast<I64>(a))),
      static_cast<U64>(__builtin_popcount(u)),
      static_cast<U64>(__builtin_popcountll(a)),
      reversed(u, 32),
      reversed(a, 64),
      static_cast<U64>(static_cast<U128>(a) * b >> 64),
      static_cast<U64>(static_cast<I128>(static_cast<I64>(a)) * static_cast<I64>(b) >> 64),
      static_cast<U64>(u) * v >> 32,
      static_cast<U64>(s * t >> 32),
      static_cast<U64>(static_cast<I64>(static_cast<int>(low_s * low_t))),
      static_cast<unsigned>((u & 0xffffff) * (v & 0xffffff)),
      bytes,
      static_cast<unsigned>(both << (w & 31) >> 32),
      clamped == 32 ? u : static_cast<unsigned>(both << clamped >> 32),
      static_cast<unsigned>(both >> (w & 31)),
      static_cast<unsigned>(both >> clamped),
      static_cast<unsigned>((static_cast<Sum>(u) + v) >> 1),
      static_cast<unsigned>((static_cast<Sum>(u) + v + 1) >> 1),
      static_cast<unsigned>(((s >> 1) > (t >> 1) ? (s >> 1) - (t >> 1) : (t >> 1) - (s >> 1)) + w),
      (u > v ? u - v : v - u) + w,
      a ? static_cast<U64>(__builtin_ctzll(a)) : 0xffffffff,
      a >> 7 & ((1ULL << 40) - 1),
      (a & ~mask) | (b << 9 & mask)};
  for (int f = 0; f < kIntrinsics; ++f) out[f] = results[f];
}

int main() {
  Test test("math_wide_integers");
  const int n = 20000;
  Random random(9);
  std::vector<U64> x(n), y(n), z(n);
  for (int i = 0; i < n; ++i) {
    for (auto* values : {&x, &y, &z}) (*values)[i] = random.bits() >> (random.below(3) * random.below(40));
    if (i % 50 == 0) x[i] = i % 100 ? 0 : ~0ULL;
  }
  U64 *device_x = to_device(x), *device_y = to_device(y), *device_z = to_device(z);
  U64* out = device_array<U64>(n * kIntrinsics);
  U64* wide_out = device_array<U64>(n * kWide);
  intrinsics<<<blocks_for(n, 128), 128>>>(device_x, device_y, device_z, out, n);
  wide_integers<<<blocks_for(n, 128), 128>>>(device_x, device_y, device_z, wide_out, n);
  check(hipGetLastError());
  std::vector<U64> got = to_host(out, n * kIntrinsics), got_wide = to_host(wide_out, n * kWide);
  for (int i = 0; i < n; ++i) {
    U64 want[kIntrinsics], want_wide[kWide];
    expected(x[i], y[i], z[i], want);
    wide(x[i], y[i], z[i], want_wide);
    for (int f = 0; f < kIntrinsics; ++f) {
      if (got[f * n + i] != want[f])
        test.expect(false, "intrinsic " + std::to_string(f) + " of " + std::to_string(i) + " gives " +
                               std::to_string(got[f * n + i]) + ", not " + std::to_string(want[f]));
    }
    for (int f = 0; f < kWide; ++f) {
      if (got_wide[f * n + i] != want_wide[f])
        test.expect(false, "wide " + std::to_string(f) + " of " + std::to_string(i));
    }
  }
  for (U64* memory : {device_x, device_y, device_z, out, wide_out}) check(hipFree(memory));
  return test.finish();
}
