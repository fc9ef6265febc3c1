// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
kernel void black_scholes(global const float* spot, global const float* strike, global float* price, int n) {
  int i = get_global_id(0);
  if (i >= n) return;
  float s = spot[i], k = strike[i];
  float root = 0.3f * sqrt(2.0f);
  float d = (log(s / k) + (0.05f + 0.045f) * 2) / root;
  float first = 0.5f * erfc(-d * 0.70710678f), second = 0.5f * erfc((root - d) * 0.70710678f);
  price[i] = s * first - k * exp(-0.1f * s / s) * second;
}
