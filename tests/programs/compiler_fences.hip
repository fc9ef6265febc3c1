// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lanes of a wave that exchange elements of shared memory with nothing between but a fence for the compiler. Within one
// lane, what it stores for another is never what it loads: only the fence keeps it from taking its own value again.
#include "check.h"

constexpr unsigned kBlocks = 3, kThreads = 128;

#define COMPILER_FENCE() asm volatile("" ::: "memory")

__device__ unsigned index_in_block() {
  return threadIdx.z * blockDim.x * blockDim.y + threadIdx.y * blockDim.x + threadIdx.x;
}

__global__ void reverse(unsigned* out) {
  extern __shared__ unsigned row[];
  unsigned t = index_in_block(), last = warpSize - 1;
  row[t] = 100 * t + blockIdx.x;
  COMPILER_FENCE();
  row[t ^ last] = row[t];
  COMPILER_FENCE();
  out[blockIdx.x * kThreads + t] = row[t];
}

__global__ void turn(unsigned* out) {
  __shared__ unsigned row[kThreads];
  unsigned t = index_in_block(), value = 7 * t + blockIdx.x;
  for (unsigned o = 1; o < 32; o *= 2) {
    row[t] = value;
    COMPILER_FENCE();
    row[t ^ o] += row[t] * o;
    COMPILER_FENCE();
    value = row[t] ^ value;
    COMPILER_FENCE();
  }
  out[blockIdx.x * kThreads + t] = value;
}

int main() {
  Test test("compiler_fences");
  int wave = 0;
  check(hipDeviceGetAttribute(&wave, hipDeviceAttributeWarpSize, 0));
  std::vector<unsigned> reversed, turned;
  for (unsigned block = 0; block < kBlocks; ++block) {
    std::vector<unsigned> values(kThreads);
    for (unsigned t = 0; t < kThreads; ++t) {
      reversed.push_back(100 * (t ^ static_cast<unsigned>(wave - 1)) + block);
      values[t] = 7 * t + block;
    }
    for (unsigned o = 1; o < 32; o *= 2) {
      std::vector<unsigned> before(values);
      for (unsigned t = 0; t < kThreads; ++t) values[t] = (before[t] + before[t ^ o] * o) ^ before[t];
    }
    turned.insert(turned.end(), values.begin(), values.end());
  }
  unsigned* out = device_array<unsigned>(kBlocks * kThreads);
  reverse<<<kBlocks, dim3(4, 4, 8), kThreads * sizeof(unsigned)>>>(out);
  test.equal("reversed", to_host(out, reversed.size()), reversed);
  turn<<<kBlocks, dim3(kThreads / 2, 2)>>>(out);
  test.equal("turned", to_host(out, turned.size()), turned);
  check(hipFree(out));
  return test.finish();
}
