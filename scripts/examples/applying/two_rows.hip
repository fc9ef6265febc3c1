// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of matmul.hip with two rows for each thread, and half as many threads.
#include <hip/hip_runtime.h>

constexpr int kTile = 32, kHalf = kTile / 2;

__global__ void matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  int x = threadIdx.x, y = threadIdx.y;
  int column = blockIdx.x * kTile + x, row = blockIdx.y * kTile + y;
  float upper = 0, lower = 0;
  for (int start = 0; start < n; start += kTile) {
    tile_a[y][x] = a[row * n + start + x];
    tile_b[y][x] = b[(start + y) * n + column];
    tile_a[y + kHalf][x] = a[(row + kHalf) * n + start + x];
    tile_b[y + kHalf][x] = b[(start + y + kHalf) * n + column];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) {
      upper += tile_a[y][i] * tile_b[i][x];
      lower += tile_a[y + kHalf][i] * tile_b[i][x];
    }
    __syncthreads();
  }
  c[row * n + column] = upper;
  c[(row + kHalf) * n + column] = lower;
}
