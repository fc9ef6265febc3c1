// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the driver says of pointers to memory, of the runtime's and its own: libraries for communication ask.
#include "driver.h"

__global__ void add(int* data) { data[index()] += 1; }

void ask(CUdeviceptr memory, size_t bytes, CUcontext primary) {
  constexpr int kContext = 1, kSynchronises = 6, kIsManaged = 8, kDevice = 9, kRangeStart = 11, kRangeSize = 12;
  const CUdeviceptr inside = memory + bytes / 2;
  CUcontext context = nullptr;
  CUdeviceptr start = 0;
  size_t size = 0;
  unsigned synchronises = 7, is_managed = 7;  // the driver writes a byte or a word
  auto holds = [](unsigned answer) { return (answer & 0xff) != 0; };
  int device = -1;
  CHECK(cuPointerGetAttribute(&context, kContext, inside) == 0 && context == primary);
  CHECK(cuPointerGetAttribute(&synchronises, kSynchronises, inside) == 0 && !holds(synchronises));
  CHECK(cuPointerGetAttribute(&start, kRangeStart, inside) == 0 && start == memory);
  CHECK(cuPointerGetAttribute(&size, kRangeSize, inside) == 0 && size == bytes);
  int which[] = {kContext, kSynchronises, kIsManaged, kDevice, kRangeStart, kRangeSize};
  void* answers[] = {&context, &synchronises, &is_managed, &device, &start, &size};
  context = nullptr, start = size = 0, synchronises = 7;
  CHECK(cuPointerGetAttributes(6, which, answers, inside) == 0);
  CHECK(context == primary && device == 0 && start == memory && size == bytes);
  CHECK(!holds(synchronises) && !holds(is_managed));
}

int main() {
  constexpr size_t kBytes = 4096;
  int *data = nullptr, host[32], ordinary = 0;
  CHECK(cudaMalloc(reinterpret_cast<void**>(&data), kBytes) == 0 && cudaMemset(data, 0, kBytes) == 0);
  CUcontext primary = nullptr, unknown = nullptr;
  CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&primary, 0) == 0 && cuCtxSetCurrent(primary) == 0);
  CUdeviceptr drivers = 0;
  CHECK(cuMemAlloc_v2(&drivers, kBytes / 2) == 0);
  ask(reinterpret_cast<CUdeviceptr>(data), kBytes, primary);
  ask(drivers, kBytes / 2, primary);
  CHECK(cuPointerGetAttribute(&unknown, 1, reinterpret_cast<CUdeviceptr>(&ordinary)) != 0 && !unknown);
  add<<<1, 32>>>(data);
  CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost) == 0);
  for (int value : host) CHECK(value == 1);
  CHECK(cuMemFree_v2(drivers) == 0 && cudaFree(data) == 0);
  std::puts("pointers: ok");
}
