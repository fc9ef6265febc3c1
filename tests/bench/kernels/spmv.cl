// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
kernel void spmv(global const int* starts, global const int* columns, global const float* entries,
                 global const float* x, global float* y, int n) {
  int row = get_global_id(0);
  if (row >= n) return;
  float sum = 0;
  for (int i = starts[row]; i < starts[row + 1]; ++i) sum += entries[i] * x[columns[i]];
  y[row] = sum;
}
