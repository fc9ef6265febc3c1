// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that few programs call: masks of lanes, the n-th set bit, classification by its old names, loads through
// the cache, fences of every scope, values moved between lanes by HIP's names for it.

#include "check.h"

using Word = std::uint32_t;
using Wide = std::uint64_t;
constexpr int kThreads = 150;  // the last wave is not full
constexpr int kBits = 4;

__global__ void lanes(Wide* out) {
  int i = threadIdx.x;
  unsigned lane = __lane_id();
  Wide odd = __ballot64(i % 2 == 1);
  Wide before = __lanemask_lt(), here = __lanemask_eq(), after = __lanemask_gt();
  bool all = __all(i >= 0) && !__any(i < 0);
  Wide* mine = out + 6 * i;
  mine[0] = lane;
  mine[1] = before == here - 1 && (before & here) == 0 && (after & (before | here)) == 0 ? 1 : 0;
  mine[2] = __mbcnt_hi(static_cast<Word>(odd >> 32), __mbcnt_lo(static_cast<Word>(odd), 100));
  mine[3] = __popcll(odd & before);
  mine[4] = all;
  mine[5] = here;
}

__global__ void bits(const Wide* in, Wide* out) {
  int i = threadIdx.x;
  Wide x = in[i];
  Wide* mine = out + kBits * i;
  int n = i % 20 + 1, base = i % 31;
  mine[0] = static_cast<Wide>(static_cast<std::int64_t>(__fns64(x, base, n)));
  mine[1] = static_cast<Wide>(static_cast<std::int64_t>(__fns64(x, 40, -n)));
  mine[2] = static_cast<Wide>(static_cast<std::int64_t>(__fns32(x & 0xffffffff, base, n)));
  mine[3] = __lastbit_u32_u64(x);
}

// All lanes of a wave take part: each gives its value to, or takes one from, its neighbour in a group of four.
__global__ void exchange(int* out, float* floats) {
  int i = threadIdx.x, lane = static_cast<int>(__lane_id());
  int* mine = out + 4 * i;
  mine[0] = static_cast<int>(__hip_ds_bpermute(4 * (lane ^ 1), static_cast<unsigned>(i)));
  mine[1] = static_cast<int>(__hip_ds_permute(4 * (lane ^ 2), static_cast<unsigned>(i)));
  mine[2] = __hip_ds_swizzle(i, 0x041f);            // lane ^ 1
  mine[3] = __hip_move_dpp(i, 0x1b, 15, 15, true);  // a quad reversed
  floats[3 * i] = __hip_ds_bpermutef(4 * (lane ^ 3), static_cast<float>(i));
  floats[3 * i + 1] = __hip_ds_permutef(4 * (lane ^ 1), static_cast<float>(i));
  floats[3 * i + 2] = __hip_ds_swizzlef(static_cast<float>(i), 0x081f);  // lane ^ 2
  __named_sync(0, 0);
}

__global__ void classify(const float* f, const double* d, const int* from, int* out) {
  __shared__ int copied[kThreads];
  int i = threadIdx.x;
  out[i] = __isnanf(f[i]) | __isinff(f[i]) << 1 | __finitef(f[i]) << 2 | (__signbitf(f[i]) != 0) << 3 |
           __isnan(d[i]) << 4 | __isinf(d[i]) << 5 | __finite(d[i]) << 6 | (__signbit(d[i]) != 0) << 7 |
           std::isgreaterequal(f[i], 1.0f) << 8 | std::islessequal(d[i], 1.0) << 9 |
           std::islessgreater(f[i], 2.0f) << 10;
  copied[i] = __ldg(from + i);
  __threadfence_block();
  __syncthreads();
  out[i] += static_cast<int>(labs(static_cast<long>(copied[(i + 1) % kThreads]))) << 12;
  __threadfence_system();
  out[i] += static_cast<int>(llabs(-1ll - i)) << 22;
}

// Of the n-th set bit from `base` on, upwards, or downwards for a negative n.
static std::int64_t nth_bit(Wide mask, int base, int n) {
  int step = n > 0 ? 1 : -1;
  for (int place = base; place >= 0 && place < 64; place += step) {
    if (mask >> place & 1) n -= step;
    if (n == 0) return place;
  }
  return -1;
}

static void check_lanes(Test& test, int wave) {
  auto* out = device_array<Wide>(6 * kThreads);
  lanes<<<1, kThreads>>>(out);
  check(hipGetLastError());
  std::vector<Wide> want;
  for (Wide i = 0; i < kThreads; ++i) {
    Wide lane = i % wave;
    want.insert(want.end(), {lane, 1, 100 + lane / 2, lane / 2, 1, Wide{1} << lane});
  }
  test.equal("lanes", to_host(out, want.size()), want);
}

static void check_bits(Test& test, Random& random) {
  std::vector<Wide> in(kThreads), want;
  for (Wide& each : in) each = random.bits() & random.bits();
  auto* out = device_array<Wide>(kBits * kThreads);
  bits<<<1, kThreads>>>(to_device(in), out);
  check(hipGetLastError());
  for (int i = 0; i < kThreads; ++i) {
    int n = i % 20 + 1, base = i % 31;
    want.push_back(static_cast<Wide>(nth_bit(in[i], base, n)));
    want.push_back(static_cast<Wide>(nth_bit(in[i], 40, -n)));
    want.push_back(static_cast<Wide>(nth_bit(in[i] & 0xffffffff, base, n)));
    want.push_back(static_cast<Wide>(static_cast<Word>(nth_bit(in[i], 0, 1))));
  }
  test.equal("bits", to_host(out, want.size()), want);
}

static void check_exchange(Test& test) {
  constexpr int n = 128;
  int* out = device_array<int>(4 * n);
  float* floats = device_array<float>(3 * n);
  exchange<<<1, n>>>(out, floats);
  check(hipGetLastError());
  std::vector<int> want;
  std::vector<float> want_floats;
  for (int i = 0; i < n; ++i) {
    want.insert(want.end(), {i ^ 1, i ^ 2, i ^ 1, i ^ 3});
    want_floats.insert(want_floats.end(), {float(i ^ 3), float(i ^ 1), float(i ^ 2)});
  }
  test.equal("exchanges", to_host(out, want.size()), want);
  test.equal("exchanges of floats", to_host(floats, want_floats.size()), want_floats);
}

static void check_classification(Test& test, Random& random) {
  const float specials[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 2.0f, 1e-42f};
  std::vector<float> f(kThreads);
  std::vector<double> d(kThreads);
  std::vector<int> from(kThreads), want(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    f[i] = specials[random.below(9)];
    d[i] = specials[random.below(9)];
    from[i] = static_cast<int>(random.below(1000)) - 500;
  }
  int* out = device_array<int>(kThreads);
  classify<<<1, kThreads>>>(to_device(f), to_device(d), to_device(from), out);
  check(hipGetLastError());
  for (int i = 0; i < kThreads; ++i) {
    int answer = std::isnan(f[i]) | std::isinf(f[i]) << 1 | std::isfinite(f[i]) << 2 | std::signbit(f[i]) << 3 |
                 std::isnan(d[i]) << 4 | std::isinf(d[i]) << 5 | std::isfinite(d[i]) << 6 | std::signbit(d[i]) << 7 |
                 (f[i] >= 1) << 8 | (d[i] <= 1) << 9 | (f[i] < 2 || f[i] > 2) << 10;
    want[i] = answer + (std::abs(from[(i + 1) % kThreads]) << 12) + ((i + 1) << 22);
  }
  test.equal("classes", to_host(out, kThreads), want);
}

int main() {
  Test test("lane_functions");
  Random random(5);
  int wave = 0;
  check(hipDeviceGetAttribute(&wave, hipDeviceAttributeWarpSize, 0));
  check_lanes(test, wave);
  check_bits(test, random);
  check_exchange(test);
  check_classification(test, random);
  return test.finish();
}
