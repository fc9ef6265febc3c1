// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches a kernel, says so, and waits for a signal. SIGINT ends it well; others as they do.
#include <hip/hip_runtime.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

__global__ void set(int* data) { data[threadIdx.x] = threadIdx.x; }

int main() {
  std::signal(SIGINT, [](int) { _exit(0); });
  int* data = nullptr;
  if (hipMalloc(&data, 256) != hipSuccess) return 1;
  set<<<1, 64>>>(data);
  if (hipDeviceSynchronize() != hipSuccess) return 1;
  std::fprintf(stderr, "ready\n");
  for (;;) pause();
}
