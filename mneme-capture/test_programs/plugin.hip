// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library with a kernel, variables and a table of functions; others of the same names have another FIRST.
#include <hip/hip_runtime.h>

__device__ int count = FIRST;
__device__ int* const where = &count;

__device__ int raise(int value) { return value + FIRST; }
__device__ int (*const table[])(int) = {raise};

__global__ void same(int* data) {
  data[threadIdx.x] += *where + table[data[0] < 0](1);
  if (threadIdx.x == 0) *where += 10;
}

extern "C" hipError_t launch(int* data, unsigned threads) {
  same<<<1, threads>>>(data);
  return hipDeviceSynchronize();
}
