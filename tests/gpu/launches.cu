// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a launch costs the application that is not recorded any more: fewer at once than the driver has room for, so that
// none waits for another; the quickest of several times.
//
//   launches
#include <algorithm>
#include <chrono>
#include <cstdio>

__global__ void step(unsigned* data, unsigned value) { data[threadIdx.x] += value; }

int main() {
  constexpr int kAtOnce = 500, kTimes = 200;
  unsigned* data = nullptr;
  bool ok = cudaMalloc(&data, 32 * sizeof *data) == cudaSuccess && cudaMemset(data, 0, 32 * sizeof *data) == cudaSuccess;
  step<<<1, 32>>>(data, 1);  // is recorded
  double least = 1;
  for (int i = 0; i < kTimes; ++i) {
    ok = ok && cudaDeviceSynchronize() == cudaSuccess;
    auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < kAtOnce; ++k) step<<<1, 32>>>(data, 1);
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  unsigned value = 0;
  ok = ok && cudaMemcpy(&value, data, sizeof value, cudaMemcpyDeviceToHost) == cudaSuccess;
  std::printf("%.3f\n", least / kAtOnce * 1e6);
  return ok && value == 1 + kAtOnce * kTimes ? 0 : 1;
}
