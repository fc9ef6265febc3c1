// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gpu.h"

// A kernel template whose argument is a lambda.
template <class Body>
__global__ void parallel_for(int n, Body body) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) body(i);
}

bool fill(float* data, int n) {
  parallel_for<<<(n + 127) / 128, 128>>>(n, [=] __device__(int i) { data[i] = 2 * i; });
  return gpuDeviceSynchronize() == 0;
}

#ifdef WITH_MAIN
int main() { return !fill(nullptr, 0); }
#endif
