// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// As clang and nvcc compile for --default-stream per-thread: each thread has a default stream of its own, and functions
// with names of their own take a null stream for that.
#include <thread>
#include <vector>

#include "cuda.h"

extern "C" {
int cudaLaunchKernelExC_ptsz(const LaunchConfig*, const void*, void**);
int cudaMallocAsync_ptsz(void**, size_t, cudaStream_t);
int cudaFreeAsync_ptsz(void*, cudaStream_t);
int cudaMemcpy_ptds(void*, const void*, size_t, int);
int cudaMemcpyAsync_ptsz(void*, const void*, size_t, int, cudaStream_t);
int cudaMemsetAsync_ptsz(void*, int, size_t, cudaStream_t);
int cudaStreamSynchronize_ptsz(cudaStream_t);
}

constexpr unsigned kCount = 5000;

__global__ void add(int* to, const int* from, int value) {
  unsigned i = index();
  if (i < kCount) to[i] += from[i] + value;
}

void work(int number) {
  void *to = nullptr, *from = nullptr;
  constexpr size_t kBytes = kCount * sizeof(int);
  std::vector<int> host(kCount, 10 * number), back(kCount);
  CHECK(cudaMallocAsync_ptsz(&to, kBytes, nullptr) == 0 && cudaMallocAsync_ptsz(&from, kBytes, nullptr) == 0);
  CHECK(cudaMemsetAsync_ptsz(to, 1, kBytes, nullptr) == 0);
  CHECK(cudaMemcpyAsync_ptsz(from, host.data(), kBytes, cudaMemcpyHostToDevice, nullptr) == 0);
  void* arguments[] = {&to, &from, &number};
  const auto* function = reinterpret_cast<const void*>(add);
  CHECK(cudaLaunchKernel_ptsz(function, (kCount + 63) / 64, 64, arguments, 0, nullptr) == 0);
  LaunchConfig config{(kCount + 127) / 128, 128, 0, nullptr, nullptr, 0};
  CHECK(cudaLaunchKernelExC_ptsz(&config, function, arguments) == 0);
  CHECK(cudaStreamSynchronize_ptsz(nullptr) == 0);
  CHECK(cudaMemcpy_ptds(back.data(), to, kBytes, cudaMemcpyDeviceToHost) == 0);
  for (int value : back) CHECK(value == 0x01010101 + 2 * 11 * number);
  CHECK(cudaFreeAsync_ptsz(to, nullptr) == 0 && cudaFreeAsync_ptsz(from, nullptr) == 0);
}

int main() {
  std::vector<std::thread> threads;
  for (int i = 1; i <= 3; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  std::puts("per_thread: ok");
}
