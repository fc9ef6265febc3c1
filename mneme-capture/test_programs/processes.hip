// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An application that looks at what is its own: descriptors, children; and that forks after it launched.
#include <fcntl.h>
#include <hip/hip_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

__global__ void increment(int* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) ++data[i];
}

int main() {
  int* data = nullptr;
  if (hipMalloc(&data, 400) != hipSuccess || hipMemset(data, 0, 400) != hipSuccess) return 1;
  increment<<<1, 64>>>(data, 50);
  if (hipDeviceSynchronize() != hipSuccess) return 2;
  // The lowest descriptor that is free is the application's to count on.
  if (open("/dev/null", O_RDONLY) != 3) return 3;
  if (waitpid(-1, nullptr, 0) != -1) return 4;  // there are no children that it did not start
  pid_t child = fork();
  if (child == 0) _exit(getenv("PATH") ? 0 : 1);
  int status = 1;
  if (waitpid(child, &status, 0) != child || status != 0) return 5;
  increment<<<1, 64>>>(data, 60);
  int seen[100];
  if (hipMemcpy(seen, data, 400, hipMemcpyDeviceToHost) != hipSuccess) return 6;
  return seen[0] == 2 && seen[59] == 1 ? 0 : 7;
}
