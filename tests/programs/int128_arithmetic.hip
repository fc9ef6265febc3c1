// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integers of 128 bits: all operators, conversions, shuffled across lanes, in shared memory; against the host's.
#include "check.h"

using Int = __int128;
using Unsigned = unsigned __int128;
constexpr unsigned kAnswers = 16;

__host__ __device__ inline void answers(Int a, Int b, unsigned shift, Unsigned* out) {
  Unsigned ua = static_cast<Unsigned>(a), ub = static_cast<Unsigned>(b);
  Int divisor = b == 0 ? 3 : b;
  Unsigned unsigned_divisor = static_cast<Unsigned>(divisor);
  *out++ = ua + ub;
  *out++ = ua - ub;
  *out++ = ua * ub;
  *out++ = divisor == -1 ? 0 : static_cast<Unsigned>(a / divisor);
  *out++ = divisor == -1 ? 0 : static_cast<Unsigned>(a % divisor);
  *out++ = ua / unsigned_divisor;
  *out++ = ua % unsigned_divisor;
  *out++ = ua << shift;
  *out++ = ua >> shift;
  *out++ = static_cast<Unsigned>(a >> shift);
  *out++ = (ua & ub) | (ua ^ ~ub);
  *out++ = static_cast<Unsigned>((a < b) + 2 * (ua < ub) + 4 * (a == b) + 8 * (ua >= ub));
  *out++ = static_cast<Unsigned>(static_cast<Int>(static_cast<long long>(a)));
  *out++ = static_cast<Unsigned>(static_cast<Int>(static_cast<int>(b)));
  *out++ = static_cast<Unsigned>(-a);
  *out++ = static_cast<Unsigned>(static_cast<unsigned long long>(ua >> 64)) * static_cast<unsigned long long>(ub);
}

__global__ void compute(const Int* in, Unsigned* out, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) answers(in[2 * i], in[2 * i + 1], i % 128, out + kAnswers * i);
}

// A product of the block's numbers, in shared memory.
__global__ void product(const Int* in, Unsigned* out) {
  __shared__ Unsigned part[64];
  part[threadIdx.x] = static_cast<Unsigned>(in[threadIdx.x]) | 1;
  __syncthreads();
  for (unsigned half = 32; half; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] *= part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = part[0];
}

int main() {
  Test test("int128_arithmetic");
  std::vector<Int> in;
  Random random(128);
  for (unsigned i = 0; i < 512; ++i) {
    Unsigned bits = static_cast<Unsigned>(random.bits()) << 64 | random.bits();
    Int value = static_cast<Int>(bits) >> random.below(127);
    in.push_back(i % 16 == 0 ? static_cast<Int>(i / 16) - 8 : value);
  }
  unsigned n = static_cast<unsigned>(in.size() / 2);
  Int* device_in = to_device(in);
  Unsigned* device_out = device_array<Unsigned>(kAnswers * n);
  compute<<<blocks_for(n, 64), 64>>>(device_in, device_out, n);
  std::vector<Unsigned> got = to_host(device_out, kAnswers * n);
  for (unsigned i = 0; i < n; ++i) {
    Unsigned want[kAnswers];
    answers(in[2 * i], in[2 * i + 1], i % 128, want);
    for (unsigned k = 0; k < kAnswers; ++k) {
      test.expect(got[kAnswers * i + k] == want[k], "operation " + std::to_string(k) + " on pair " + std::to_string(i));
    }
  }
  product<<<1, 64>>>(device_in, device_out);
  Unsigned want = 1;
  for (unsigned i = 0; i < 64; ++i) want *= static_cast<Unsigned>(in[i]) | 1;
  test.expect(to_host(device_out, 1)[0] == want, "the product is wrong");
  check(hipFree(device_in));
  check(hipFree(device_out));
  return test.finish();
}
