// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
kernel void scan(global const float* in, global float* out, int n) {
  local float sums[2][256];
  int i = get_global_id(0), t = get_local_id(0), from = 0;
  sums[0][t] = i < n ? in[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int distance = 1; distance < 256; distance *= 2) {
    sums[1 - from][t] = t < distance ? sums[from][t] : sums[from][t] + sums[from][t - distance];
    from = 1 - from;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i < n) out[i] = sums[from][t];
}
