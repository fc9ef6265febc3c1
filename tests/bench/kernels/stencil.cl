// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
kernel void stencil(global const float* in, global float* out, int n) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  int i = y * n + x;
  out[i] = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
}
