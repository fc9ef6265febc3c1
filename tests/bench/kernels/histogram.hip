// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench_hip.h"
#include "histogram.h"

__global__ void __launch_bounds__(256) histogram_kernel(const int* data, int* bins, int n) {
  __shared__ int mine[256];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = 0; i < 16; ++i) {
    int at = blockIdx.x * 4096 + i * 256 + threadIdx.x;
    if (at < n) atomicAdd(&mine[data[at]], 1);
  }
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

int main() { return run_hip(histogram(), reinterpret_cast<const void*>(&histogram_kernel)); }
