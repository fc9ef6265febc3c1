// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that read a word of host memory again and again: one until the application has written it, after the launch,
// and one that finds it written.
#include <hip/hip_runtime.h>

#include <cstdio>

#define CHECK(call) \
  if ((call) != hipSuccess) return std::printf("polling: FAILED in line %d\n", __LINE__), 1

__global__ void waits(volatile int* go, int* data) {
  while (*go == 0) {
  }
  data[threadIdx.x] += *go;
}
// Of which only shows while it runs that it polls.
__global__ void remembers(volatile int* go, int* data) {
  bool seen = false;
  do {
    int now = *go;
    if (now == 3) data[0] = 0;
    if (now != 0) seen = true;
  } while (!seen);
  data[threadIdx.x] += *go;
}
__global__ void finds(int* go, int* data) {
  while (__hip_atomic_load(go, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) == 0) {
  }
  data[threadIdx.x] += *go;
}

int main() {
  int *go = nullptr, *data = nullptr;
  CHECK(hipHostMalloc(&go, sizeof *go, hipHostMallocMapped));
  CHECK(hipMalloc(&data, 64 * sizeof *data));
  CHECK(hipMemset(data, 0, 64 * sizeof *data));
  CHECK(hipDeviceSynchronize());
  for (int i = 0; i < 3; ++i) {
    *go = 0;
    waits<<<1, 64>>>(go, data);
    *static_cast<volatile int*>(go) = 7;
    CHECK(hipDeviceSynchronize());
  }
  *go = 0;
  remembers<<<1, 64>>>(go, data);
  *static_cast<volatile int*>(go) = 7;
  CHECK(hipDeviceSynchronize());
  finds<<<1, 64>>>(go, data);
  int seen[64] = {};
  CHECK(hipMemcpy(seen, data, sizeof seen, hipMemcpyDeviceToHost));
  bool right = seen[0] == 35 && seen[63] == 35;
  std::printf("polling: %s\n", right ? "ok" : "FAILED");
  return right ? 0 : 1;
}
