// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C = A * B with tiles in shared memory. A block computes tile_m by tile_n elements, a thread `work` of one column.
// Rows of the tiles may be padded.

#include "space.h"

constexpr int kMostWork = 8;

__global__ void matmul(const float* a, const float* b, float* c, int size, int tile_m, int tile_n, int tile_k, int work,
                       int padding) {
  extern __shared__ float tiles[];
  float* tile_a = tiles;
  float* tile_b = tiles + tile_m * (tile_k + padding);
  int x = threadIdx.x, y = threadIdx.y, thread = y * blockDim.x + x, threads = blockDim.x * blockDim.y;
  int first_row = blockIdx.y * tile_m, first_column = blockIdx.x * tile_n;

  float sums[kMostWork] = {};
  for (int start = 0; start < size; start += tile_k) {
    for (int i = thread; i < tile_m * tile_k; i += threads)
      tile_a[i / tile_k * (tile_k + padding) + i % tile_k] = a[(first_row + i / tile_k) * size + start + i % tile_k];
    for (int i = thread; i < tile_k * tile_n; i += threads)
      tile_b[i / tile_n * (tile_n + padding) + i % tile_n] = b[(start + i / tile_n) * size + first_column + i % tile_n];
    __syncthreads();
    for (int i = 0; i < tile_k; ++i)
      for (int w = 0; w < work; ++w)
        sums[w] += tile_a[(y + w * blockDim.y) * (tile_k + padding) + i] * tile_b[i * (tile_n + padding) + x];
    __syncthreads();
  }
  for (int w = 0; w < work; ++w) c[(first_row + y + w * blockDim.y) * size + first_column + x] = sums[w];
}

int main() {
  const int size = 64;
  Random random(1);
  float* a = to_device(random.values(size * size, -1.0f, 1.0f));
  float* b = to_device(random.values(size * size, -1.0f, 1.0f));
  float* c = device_array<float>(size * size);
  for_each_of({{8, 16, 32, 64}, {8, 16, 32, 64}, {8, 16, 32}, {1, 2, 4, 8}, {0, 1}}, [&](const std::vector<int>& p) {
    int tile_m = p[0], tile_n = p[1], tile_k = p[2], work = p[3], padding = p[4];
    if (tile_m / work * tile_n < 32) return;
    check(hipMemset(c, 0, size * size * sizeof(float)));
    int shared = tile_m * (tile_k + padding) + tile_k * (tile_n + padding);
    matmul<<<dim3(size / tile_n, size / tile_m), dim3(tile_n, tile_m / work), shared * sizeof(float)>>>(
        a, b, c, size, tile_m, tile_n, tile_k, work, padding);
    ignore_last_error();
  });
  check(hipDeviceSynchronize());
}
