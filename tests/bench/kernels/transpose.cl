// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
kernel void transpose(global const float* in, global float* out, int n) {
  local float tile[32][33];
  int tx = get_local_id(0), ty = get_local_id(1), bx = get_group_id(0) * 32, by = get_group_id(1) * 32;
  for (int i = 0; i < 32; i += 8) tile[ty + i][tx] = in[(by + ty + i) * n + bx + tx];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < 32; i += 8) out[(bx + ty + i) * n + by + tx] = tile[tx][ty + i];
}
