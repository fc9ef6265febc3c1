// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory of every kind that the runtime gives out, changed by copies and fills between launches that use it.
#include <vector>

#include "cuda.h"

constexpr unsigned kCount = 40000, kFew = 16;

__constant__ int factor;
__device__ int calls;

__global__ void combine(int* out, const int* in, const int* managed, const int* pinned) {
  unsigned i = index();
  if (i == 0) calls = calls + 1;
  if (i < kCount) out[i] += factor * in[i] + managed[i % kFew] + pinned[i % kFew];
}

__global__ void advance(int* managed, int* pinned) {
  unsigned i = index();
  managed[i] += 7;
  pinned[i] = managed[i] - pinned[i];
}

template <class T>
T* device_memory(size_t count) {
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, count * sizeof(T)) == 0);
  return static_cast<T*>(memory);
}

int main() {
  int *out = device_memory<int>(kCount), *in = device_memory<int>(kCount);
  void *managed_memory, *pinned_memory, *late_memory;
  cudaStream_t stream;
  CHECK(cudaMallocManaged(&managed_memory, kFew * sizeof(int)) == 0);
  CHECK(cudaMallocHost(&pinned_memory, kFew * sizeof(int)) == 0);
  CHECK(cudaStreamCreate(&stream) == 0);
  CHECK(cudaMallocAsync(&late_memory, kCount * sizeof(int), stream) == 0);
  auto *managed = static_cast<int*>(managed_memory), *pinned = static_cast<int*>(pinned_memory);
  auto* late = static_cast<int*>(late_memory);

  std::vector<int> host(kCount), expected(kCount, 0);
  int times = 3;
  CHECK(cudaMemcpyToSymbol(&factor, &times, sizeof times) == 0);
  CHECK(cudaMemset(out, 0, kCount * sizeof(int)) == 0);
  for (unsigned i = 0; i < kFew; ++i) managed[i] = static_cast<int>(i), pinned[i] = static_cast<int>(100 * i);
  constexpr unsigned kBlocks = (kCount + 255) / 256;
  for (int round = 0; round < 2; ++round) {
    for (unsigned i = 0; i < kCount; ++i) {
      host[i] = static_cast<int>(i) * (round + 1);
      expected[i] += times * host[i] + managed[i % kFew] + pinned[i % kFew];
    }
    CHECK(cudaMemcpy(in, host.data(), kCount * sizeof(int), cudaMemcpyHostToDevice) == 0);
    combine<<<kBlocks, 256>>>(out, in, managed, pinned);
    int seven = managed[0] + 7;
    advance<<<1, kFew>>>(managed, pinned);
    CHECK(cudaDeviceSynchronize() == 0);
    CHECK(managed[0] == seven);
  }
  // In the order of a stream.
  CHECK(cudaMemsetAsync(late, 1, kCount * sizeof(int), stream) == 0);
  combine<<<kBlocks, 256, 0, stream>>>(late, in, managed, pinned);
  CHECK(cudaStreamSynchronize(stream) == 0);
  std::vector<int> result(kCount);
  CHECK(cudaMemcpy(result.data(), out, kCount * sizeof(int), cudaMemcpyDeviceToHost) == 0);
  CHECK(result == expected);
  CHECK(cudaMemcpy(result.data(), late, kCount * sizeof(int), cudaMemcpyDeviceToHost) == 0);
  for (unsigned i = 0; i < kCount; ++i) {
    CHECK(result[i] == 0x01010101 + times * host[i] + managed[i % kFew] + pinned[i % kFew]);
  }
  CHECK(cudaFreeAsync(late, stream) == 0 && cudaStreamDestroy(stream) == 0);
  CHECK(cudaFree(out) == 0 && cudaFree(in) == 0 && cudaFree(managed) == 0 && cudaFreeHost(pinned) == 0);
  std::puts("memory: ok");
  return 0;  // as a function of a library, too
}
