// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench_hip.h"
#include "nbody.h"

__global__ void __launch_bounds__(256) nbody_kernel(const float* x, const float* y, const float* z, float* a, int n) {
  __shared__ float tile[3][256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  float xi = x[i], yi = y[i], zi = z[i], sum = 0;
  for (int start = 0; start < n; start += 256) {
    tile[0][t] = x[start + t], tile[1][t] = y[start + t], tile[2][t] = z[start + t];
    __syncthreads();
    for (int j = 0; j < 256; ++j) {
      float dx = tile[0][j] - xi, dy = tile[1][j] - yi, dz = tile[2][j] - zi;
      float r = dx * dx + dy * dy + dz * dz + 0.01f;
      sum += dx / (r * sqrtf(r));
    }
    __syncthreads();
  }
  a[i] = sum;
}

int main() { return run_hip(nbody(), reinterpret_cast<const void*>(&nbody_kernel)); }
