// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches of one kernel that differ in the values of their arguments, and in grid, block and shared memory.
#include <hip/hip_runtime.h>

__global__ void add(int* data, int number) { data[threadIdx.x] += number; }

int main() {
  int* data = nullptr;
  if (hipMalloc(&data, 64 * sizeof(int)) != hipSuccess) return 1;
  for (int number = 0; number < 3; ++number) add<<<1, 64>>>(data, number);
  add<<<2, 64>>>(data, 0);
  add<<<2, 32>>>(data, 0);
  add<<<2, 32, 64>>>(data, 0);
  return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
