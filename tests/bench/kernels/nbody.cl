// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
kernel void nbody(global const float* x, global const float* y, global const float* z, global float* a, int n) {
  local float tile[3][256];
  int t = get_local_id(0), i = get_global_id(0);
  float xi = x[i], yi = y[i], zi = z[i], sum = 0;
  for (int start = 0; start < n; start += 256) {
    tile[0][t] = x[start + t], tile[1][t] = y[start + t], tile[2][t] = z[start + t];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 256; ++j) {
      float dx = tile[0][j] - xi, dy = tile[1][j] - yi, dz = tile[2][j] - zi;
      float r = dx * dx + dy * dy + dz * dz + 0.01f;
      sum += dx / (r * sqrt(r));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  a[i] = sum;
}
