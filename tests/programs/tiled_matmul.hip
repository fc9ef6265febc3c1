// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C = A * B with 32x32 tiles in shared memory: blocks of 1024 threads, two barriers per tile, and sizes that are no
// multiple of the tile.

#include "check.h"

constexpr int kTile = 32;

// A is m by k, B is k by n, C is m by n; all row by row.
__global__ void tiled_matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float tile_a[kTile][kTile];
  __shared__ float tile_b[kTile][kTile];
  int x = threadIdx.x, y = threadIdx.y;
  int column = blockIdx.x * kTile + x;
  int row = blockIdx.y * kTile + y;

  float sum = 0;
  for (int start = 0; start < k; start += kTile) {
    tile_a[y][x] = row < m && start + x < k ? a[row * k + start + x] : 0;
    tile_b[y][x] = start + y < k && column < n ? b[(start + y) * n + column] : 0;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += tile_a[y][i] * tile_b[i][x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

int main() {
  Test test("tiled_matmul");
  const int m = 150, n = 170, k = 130;
  Random random(1);
  std::vector<float> a = random.values(m * k, -1.0f, 1.0f);
  std::vector<float> b = random.values(k * n, -1.0f, 1.0f);
  std::vector<double> want(m * n);
  for (int row = 0; row < m; ++row)
    for (int i = 0; i < k; ++i)
      for (int column = 0; column < n; ++column) want[row * n + column] += double(a[row * k + i]) * b[i * n + column];

  float* device_a = to_device(a);
  float* device_b = to_device(b);
  float* device_c = device_array<float>(m * n);
  dim3 grid(blocks_for(n, kTile), blocks_for(m, kTile));
  tiled_matmul<<<grid, dim3(kTile, kTile)>>>(device_a, device_b, device_c, m, n, k);
  check(hipGetLastError());

  test.close("c", to_host(device_c, m * n), want, 1e-4);
  check(hipFree(device_a));
  check(hipFree(device_b));
  check(hipFree(device_c));
  return test.finish();
}
