// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two devices where there are two, each with memory, a stream and a variable of its own, at work at the same time and
// for each other; else one in both roles.
#include <thread>
#include <vector>

#include "cuda.h"

extern "C" {
int cudaGetDeviceCount(int*);
int cudaSetDevice(int);
int cudaDeviceCanAccessPeer(int*, int, int);
int cudaDeviceEnablePeerAccess(int, unsigned);
int cudaMemcpyPeer(void*, int, const void*, int, size_t);
}

constexpr unsigned kCount = 100'000, kBlock = 256;

__device__ int scale = 1;

__global__ void fill(int* out, int value) {
  unsigned i = index();
  if (i < kCount) out[i] = value + scale * static_cast<int>(i % 1000);
}

// `there` may be another device's.
__global__ void combine(int* out, const int* here, const int* there) {
  unsigned i = index();
  if (i < kCount) out[i] += 3 * here[i] + there[i];
}

struct Device {
  int number = 0, scale = 0;
  int *data = nullptr, *out = nullptr;
  cudaStream_t stream = nullptr;
};

// What a thread of its own does on it.
void work_on(Device& device) {
  CHECK(cudaSetDevice(device.number) == 0);
  void *data = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&data, kCount * sizeof(int)) == 0 && cudaMalloc(&out, kCount * sizeof(int)) == 0);
  device.data = static_cast<int*>(data);
  device.out = static_cast<int*>(out);
  CHECK(cudaStreamCreate(&device.stream) == 0);
  CHECK(cudaMemset(out, 0, kCount * sizeof(int)) == 0 && cudaDeviceSynchronize() == 0);
  CHECK(cudaMemcpyToSymbol(&scale, &device.scale, sizeof scale) == 0);
  fill<<<(kCount + kBlock - 1) / kBlock, kBlock, 0, device.stream>>>(device.data, 7 * device.scale);
  CHECK(cudaStreamSynchronize(device.stream) == 0);
}

void check(const int* memory, int times, int plus) {
  std::vector<int> seen(kCount);
  CHECK(cudaMemcpy(seen.data(), memory, kCount * sizeof(int), cudaMemcpyDeviceToHost) == 0);
  for (unsigned i = 0; i < kCount; ++i) CHECK(seen[i] == times * static_cast<int>(i % 1000) + plus);
}

int main() {
  int count = 0, reaches = 1;
  CHECK(cudaGetDeviceCount(&count) == 0);
  const bool several = count > 1;
  Device first{0, 10}, second{several ? 1 : 0, several ? 20 : 10};
  {
    std::thread beside([&] { work_on(second); });
    work_on(first);
    beside.join();
  }
  check(first.data, first.scale, 7 * first.scale);
  check(second.data, second.scale, 7 * second.scale);

  CHECK(cudaSetDevice(0) == 0);
  if (several) CHECK(cudaDeviceCanAccessPeer(&reaches, 0, 1) == 0);
  if (several && reaches) CHECK(cudaDeviceEnablePeerAccess(1, 0) == 0);
  const Device& other = reaches ? second : first;
  combine<<<(kCount + kBlock - 1) / kBlock, kBlock, 0, first.stream>>>(first.out, first.data, other.data);
  CHECK(cudaStreamSynchronize(first.stream) == 0);
  const int times = 3 * first.scale + other.scale;
  check(first.out, times, 7 * times);
  CHECK(cudaMemcpyPeer(second.out, second.number, first.out, 0, kCount * sizeof(int)) == 0);
  CHECK(cudaSetDevice(second.number) == 0);
  combine<<<(kCount + kBlock - 1) / kBlock, kBlock, 0, second.stream>>>(second.out, second.data, second.data);
  CHECK(cudaStreamSynchronize(second.stream) == 0 && cudaGetLastError() == 0);
  check(second.out, times + 4 * second.scale, 7 * (times + 4 * second.scale));
  std::puts("devices: ok");
}
