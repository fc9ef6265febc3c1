// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An application, as benchmarks are, that launches the same again and again, of which only the first launch changes
// memory.
#include <hip/hip_runtime.h>

__global__ void fill(int* data, int value) { data[threadIdx.x] = value; }

int main() {
  int* data = nullptr;
  if (hipMalloc(&data, 64 * sizeof(int)) != hipSuccess) return 1;
  for (int i = 0; i < 5; ++i) fill<<<1, 64>>>(data, 7);
  if (hipDeviceSynchronize() != hipSuccess) return 2;
  return hipFree(data) == hipSuccess ? 0 : 3;
}
