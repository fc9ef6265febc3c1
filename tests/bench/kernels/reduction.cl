// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
kernel void reduction(global const float* in, global float* sums, int n) {
  local float partial[256];
  int i = get_global_id(0), t = get_local_id(0);
  partial[t] = i < n ? in[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int stride = 128; stride > 0; stride /= 2) {
    if (t < stride) partial[t] += partial[t + stride];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) sums[get_group_id(0)] = partial[0];
}
