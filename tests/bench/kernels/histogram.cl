// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
kernel void histogram(global const int* data, global int* bins, int n) {
  local int mine[256];
  int t = get_local_id(0);
  mine[t] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < 16; ++i) {
    int at = get_group_id(0) * 4096 + i * 256 + t;
    if (at < n) atomic_add(&mine[data[at]], 1);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&bins[t], mine[t]);
}
