// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench_hip.h"
#include "reduction.h"

__global__ void __launch_bounds__(256) reduction_kernel(const float* in, float* sums, int n) {
  __shared__ float partial[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  partial[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int stride = 128; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) partial[threadIdx.x] += partial[threadIdx.x + stride];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

int main() { return run_hip(reduction(), reinterpret_cast<const void*>(&reduction_kernel)); }
