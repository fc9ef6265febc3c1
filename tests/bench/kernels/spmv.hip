// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench_hip.h"
#include "spmv.h"

__global__ void spmv_kernel(const int* starts, const int* columns, const float* entries, const float* x, float* y,
                            int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  float sum = 0;
  for (int i = starts[row]; i < starts[row + 1]; ++i) sum += entries[i] * x[columns[i]];
  y[row] = sum;
}

int main() { return run_hip(spmv(), reinterpret_cast<const void*>(&spmv_kernel)); }
