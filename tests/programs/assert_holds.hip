// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// assert(), abort() and __builtin_trap() in kernels that never come to them, beside barriers and in functions.

#undef NDEBUG
#include <cassert>

#include "check.h"

__device__ __attribute__((noinline)) int checked(int value, int limit) {
  assert(value < limit && "the value is below its limit");
  if (value < 0) __builtin_trap();
  return value * 2;
}

__global__ void twice(int* data, int n, int limit) {
  __shared__ int tile[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? data[i] : 0;
  assert(tile[threadIdx.x] >= 0);
  __syncthreads();
  int other = tile[63 - threadIdx.x];
  if (other > limit) abort();
  __syncthreads();
  if (i < n) data[i] = checked(other, limit);
}

int main() {
  Test test("assert_holds");
  const int n = 1000;
  std::vector<int> values = Random(1).values(n, 1, 1000), want(n);
  for (int i = 0; i < n; ++i) {
    int other = i / 64 * 64 + 63 - i % 64;
    want[i] = 2 * (other < n ? values[other] : 0);
  }
  int* data = to_device(values);
  twice<<<blocks_for(n, 64), 64>>>(data, n, 1001);
  check(hipGetLastError());
  test.equal("data", to_host(data, n), want);
  check(hipFree(data));
  return test.finish();
}
