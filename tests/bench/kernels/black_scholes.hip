// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench_hip.h"
#include "black_scholes.h"

__global__ void black_scholes_kernel(const float* spot, const float* strike, float* price, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = spot[i], k = strike[i];
  float root = 0.3f * sqrtf(2.0f);
  float d = (logf(s / k) + (0.05f + 0.045f) * 2) / root;
  float first = 0.5f * erfcf(-d * 0.70710678f), second = 0.5f * erfcf((root - d) * 0.70710678f);
  price[i] = s * first - k * expf(-0.1f * s / s) * second;
}

int main() { return run_hip(black_scholes(), reinterpret_cast<const void*>(&black_scholes_kernel)); }
