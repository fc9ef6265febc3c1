// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An application that says which of its launches have ended, until it is killed.
#include <hip/hip_runtime.h>
#include <unistd.h>

#include <cstdio>

__global__ void add(int* data, int value) { data[threadIdx.x] += value; }

int main() {
  int* data = nullptr;
  if (hipMalloc(&data, 64 * sizeof(int)) != hipSuccess) return 1;
  if (hipMemset(data, 0, 64 * sizeof(int)) != hipSuccess) return 2;
  dprintf(1, "%d\n", getpid());
  for (int i = 1;; ++i) {
    add<<<1, 64>>>(data, i);
    if (hipDeviceSynchronize() != hipSuccess) return 3;
    dprintf(1, "%d\n", i);
  }
}
