// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread that launches, and one that goes on copying to other memory meanwhile.
#include <hip/hip_runtime.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

__global__ void add(int* data, int n, int by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += by;
}

int main() {
  const int n = 1 << 16, rounds = 10;
  std::vector<int> values(n), others(n);
  int *data = nullptr, *beside = nullptr;
  bool ok = hipMalloc(&data, n * sizeof(int)) == hipSuccess && hipMalloc(&beside, n * sizeof(int)) == hipSuccess;
  ok = ok && hipMemset(data, 0, n * sizeof(int)) == hipSuccess;
  std::atomic<bool> stop{false};
  bool copied = true;
  int copies = 0;
  std::thread copier([&] {
    for (; !stop; ++copies) {
      for (int& value : others) value = copies;
      copied = copied && hipMemcpy(beside, others.data(), n * sizeof(int), hipMemcpyHostToDevice) == hipSuccess;
    }
  });
  for (int round = 1; round <= rounds; ++round) {
    add<<<n / 256, 256>>>(data, n, round);
    ok = ok && hipDeviceSynchronize() == hipSuccess;
  }
  stop = true;
  copier.join();
  ok = ok && copied && hipMemcpy(values.data(), data, n * sizeof(int), hipMemcpyDeviceToHost) == hipSuccess;
  ok = ok && hipMemcpy(others.data(), beside, n * sizeof(int), hipMemcpyDeviceToHost) == hipSuccess;
  for (int value : values) ok = ok && value == rounds * (rounds + 1) / 2;
  for (int value : others) ok = ok && value == copies - 1;
  std::printf("copies_beside: %s\n", ok ? "ok" : "FAILED");
  return !ok;
}
