// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
kernel void tiled_matmul(global const float* a, global const float* b, global float* c, int n) {
  local float tile_a[32][32];
  local float tile_b[32][32];
  int x = get_local_id(0), y = get_local_id(1);
  int column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int start = 0; start < n; start += 32) {
    tile_a[y][x] = a[row * n + start + x];
    tile_b[y][x] = b[(start + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 32; ++i) sum += tile_a[y][i] * tile_b[i][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}
