// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C = A * B for square matrices of floats, SIZE (default 512) rounded up to whole tiles, with 32x32 tiles in shared
// memory and two barriers a tile.

#include "../../programs/check.h"
#include "bench.h"

constexpr int kTile = 32;

__global__ void tiled_matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[kTile][kTile];
  __shared__ float tile_b[kTile][kTile];
  int x = threadIdx.x, y = threadIdx.y;
  int column = blockIdx.x * kTile + x;
  int row = blockIdx.y * kTile + y;
  float sum = 0;
  for (int start = 0; start < n; start += kTile) {
    tile_a[y][x] = a[row * n + start + x];
    tile_b[y][x] = b[(start + y) * n + column];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += tile_a[y][i] * tile_b[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

int main(int argc, char** argv) {
  const auto [size, repeats] = parse_arguments(argc, argv, 512);
  const int n = static_cast<int>((size + kTile - 1) / kTile * kTile);
  std::vector<float> a(n * n), b(n * n);
  for (int i = 0; i < n * n; ++i) a[i] = value_at(i), b[i] = value_at(i + 1);
  float* device_a = to_device(a);
  float* device_b = to_device(b);
  float* device_c = device_array<float>(n * n);

  const dim3 grid(n / kTile, n / kTile);
  long long best = best_of(repeats, [&] {
    tiled_matmul<<<grid, dim3(kTile, kTile)>>>(device_a, device_b, device_c, n);
    check(hipGetLastError());
    check(hipDeviceSynchronize());
  });

  std::vector<float> c = to_host(device_c, n * n);
  bool right = true;
  for (int place = 0; place < n * n; place += 997) {  // some of the elements: all would take longer than the benchmark
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += double(a[place / n * n + i]) * b[i * n + place % n];
    right &= is_close(c[place], sum);
  }
  check(hipFree(device_a));
  check(hipFree(device_b));
  check(hipFree(device_c));
  return report("tiled_matmul", best, right);
}
