// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that call deep, with the stack that the runtime was asked for, and then the driver.
#include "driver.h"

constexpr int kStackSize = 0;  // cudaLimitStackSize, CU_LIMIT_STACK_SIZE

__device__ __attribute__((noinline)) int sum_to(volatile int* n, int value) {
  volatile int kept[8] = {value};
  return value == 0 ? *n : kept[0] + sum_to(n, value - 1);
}

__global__ void shallow(int* out) { out[index()] = sum_to(out, 2); }
__global__ void deep(int* out) { out[index() + 1] = sum_to(out, 100); }
__global__ void deeper(int* out) { out[index() + 1] = sum_to(out, 200); }

int main() {
  int* out = nullptr;
  CHECK(cudaMalloc(reinterpret_cast<void**>(&out), 256) == 0 && cudaMemset(out, 0, 256) == 0);
  shallow<<<1, 1>>>(out);
  CHECK(cudaDeviceSetLimit(kStackSize, 16 << 10) == 0);
  deep<<<1, 8>>>(out);
  CUcontext context = nullptr;
  CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxSetCurrent(context) == 0);
  CHECK(cuCtxSetLimit(kStackSize, 32 << 10) == 0);
  deeper<<<1, 8>>>(out);
  int host[9];
  CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost) == 0 && cudaGetLastError() == 0);
  CHECK(host[0] == 3 && host[1] == 200 * 201 / 2 + 3 && host[8] == host[1]);
  CHECK(cudaFree(out) == 0);
  std::puts("stacks: ok");
}
