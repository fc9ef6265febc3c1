// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench_hip.h"
#include "scan.h"

__global__ void __launch_bounds__(256) scan_kernel(const float* in, float* out, int n) {
  __shared__ float sums[2][256];
  int i = blockIdx.x * 256 + threadIdx.x, t = threadIdx.x, from = 0;
  sums[0][t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int distance = 1; distance < 256; distance *= 2) {
    sums[1 - from][t] = t < distance ? sums[from][t] : sums[from][t] + sums[from][t - distance];
    from = 1 - from;
    __syncthreads();
  }
  if (i < n) out[i] = sums[from][t];
}

int main() { return run_hip(scan(), reinterpret_cast<const void*>(&scan_kernel)); }
