// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes 20 launches, while children that make some of their own are killed at whatever they do.
#include <hip/hip_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

__global__ void add(int* data, int value) { data[blockIdx.x * blockDim.x + threadIdx.x] += value; }

bool launch(int* data, int value) {
  add<<<256, 256>>>(data, value);
  return hipDeviceSynchronize() == hipSuccess;
}

int main() {
  int* data = nullptr;
  bool ok = hipMalloc((void**)&data, 256 * 256 * sizeof(int)) == hipSuccess &&
            hipMemset(data, 0, 256 * 256 * sizeof(int)) == hipSuccess;
  for (int round = 0; round < 10 && ok; ++round) {
    pid_t child = fork();
    for (int i = 0; child == 0; ++i) launch(data, 1000 * (round + 1) + i);
    ok = launch(data, 2 * round + 1) && launch(data, 2 * round + 2);
    usleep(5000 + 2000 * round);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  std::puts(ok ? "killed_children: ok" : "killed_children: FAILED");
  return ok ? 0 : 1;
}
