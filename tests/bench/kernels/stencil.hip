// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench_hip.h"
#include "stencil.h"

__global__ void stencil_kernel(const float* in, float* out, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  int i = y * n + x;
  out[i] = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
}

int main() { return run_hip(stencil(), reinterpret_cast<const void*>(&stencil_kernel)); }
