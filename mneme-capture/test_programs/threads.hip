// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several threads that allocate, launch and release at the same time.
#include <hip/hip_runtime.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

__global__ void scale(int* data, int n, int factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= factor;
}

int main() {
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&failures, t] {
      for (int round = 0; round < 25; ++round) {
        const int n = 5000 + 1000 * t;
        std::vector<int> values(n, t + 1);
        int* data = nullptr;
        bool ok = hipMalloc(&data, n * sizeof(int)) == hipSuccess;
        ok = ok && hipMemcpy(data, values.data(), n * sizeof(int), hipMemcpyHostToDevice) == hipSuccess;
        scale<<<(n + 127) / 128, 128>>>(data, n, round);
        ok = ok && hipMemcpy(values.data(), data, n * sizeof(int), hipMemcpyDeviceToHost) == hipSuccess;
        for (int value : values) ok = ok && value == (t + 1) * round;
        if (!ok || hipFree(data) != hipSuccess) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("threads: %s\n", failures ? "FAILED" : "ok");
  return failures != 0;
}
