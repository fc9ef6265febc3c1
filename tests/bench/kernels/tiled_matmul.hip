// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench_hip.h"
#include "tiled_matmul.h"

__global__ void tiled_matmul_kernel(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[32][32];
  __shared__ float tile_b[32][32];
  int x = threadIdx.x, y = threadIdx.y;
  int column = blockIdx.x * 32 + x, row = blockIdx.y * 32 + y;
  float sum = 0;
  for (int start = 0; start < n; start += 32) {
    tile_a[y][x] = a[row * n + start + x];
    tile_b[y][x] = b[(start + y) * n + column];
    __syncthreads();
    for (int i = 0; i < 32; ++i) sum += tile_a[y][i] * tile_b[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

int main() { return run_hip(tiled_matmul(), reinterpret_cast<const void*>(&tiled_matmul_kernel)); }
