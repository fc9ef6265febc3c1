// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Relocatable device code: kernels here use functions and variables of scale.hip, and both units have a static kernel
// of the same name.
#include <hip/hip_runtime.h>

#include <cstdio>

#include "units.h"

extern __device__ int calls;
extern __constant__ float factors[2];
__device__ float scaled(float x);  // scale.hip

static __global__ void finish(float* data) { data[threadIdx.x] += 1; }

__global__ void scale(float* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  data[i] = scaled(data[i]) + sinf(0.0f);
  atomicAdd(&calls, 1);
}

int main() {
  constexpr int kCount = 300;
  float host[kCount];
  for (int i = 0; i < kCount; ++i) host[i] = static_cast<float>(i);
  float given[2] = {2, 10};
  float* data = nullptr;
  bool ok = hipMalloc(&data, sizeof host) == hipSuccess;
  ok &= hipMemcpy(data, host, sizeof host, hipMemcpyHostToDevice) == hipSuccess;
  ok &= hipMemcpyToSymbol(HIP_SYMBOL(factors), given, sizeof given) == hipSuccess;
  scale<<<2, 256>>>(data, kCount);
  finish<<<1, kCount>>>(data);
  finish_elsewhere(data, kCount);
  int count = 0;
  ok &= hipMemcpyFromSymbol(&count, HIP_SYMBOL(calls), sizeof count) == hipSuccess;
  ok &= hipMemcpy(host, data, sizeof host, hipMemcpyDeviceToHost) == hipSuccess;
  for (int i = 0; i < kCount; ++i) ok &= host[i] == (2.0f * static_cast<float>(i) + 10 + 1) * 3;
  ok &= count == 7 + kCount;
  ok &= hipFree(data) == hipSuccess;
  std::puts(ok ? "relocatable: ok" : "relocatable: FAILED");
  return ok ? 0 : 1;
}
