// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench_hip.h"
#include "transpose.h"

__global__ void transpose_kernel(const float* in, float* out, int n) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) out[(y + i) * n + x] = tile[threadIdx.x][threadIdx.y + i];
}

int main() { return run_hip(transpose(), reinterpret_cast<const void*>(&transpose_kernel)); }
