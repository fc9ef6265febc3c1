// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Powers of a matrix, by products with tiles in shared memory: matmul [N], the number of products.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

constexpr int kTile = 32;

__global__ void matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  int x = threadIdx.x, y = threadIdx.y;
  int column = blockIdx.x * kTile + x, row = blockIdx.y * kTile + y;
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

int main(int argc, char **argv) {
  const int n = 256, products = argc > 1 ? std::atoi(argv[1]) : 1;
  std::vector<float> values(n * n);
  for (int i = 0; i < n * n; ++i) values[i] = i % (n + 1) == 0 ? 1 : std::sin(i) / 10000;
  float *a, *b, *c;
  for (float **array : {&a, &b, &c}) {
    if (hipMalloc(reinterpret_cast<void **>(array), n * n * sizeof(float)) != hipSuccess) return 1;
  }
  if (hipMemcpy(a, values.data(), n * n * sizeof(float), hipMemcpyHostToDevice) != hipSuccess) return 1;
  if (hipMemcpy(b, values.data(), n * n * sizeof(float), hipMemcpyHostToDevice) != hipSuccess) return 1;
  for (int i = 0; i < products; ++i) {
    matmul<<<dim3(n / kTile, n / kTile), dim3(kTile, kTile)>>>(a, b, c, n);
    std::swap(b, c);
  }
  if (hipMemcpy(values.data(), b, n * n * sizeof(float), hipMemcpyDeviceToHost) != hipSuccess) return 1;
  std::printf("after %d products the first element is %g\n", products, values[0]);
}
