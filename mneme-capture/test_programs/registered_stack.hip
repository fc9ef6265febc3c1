// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel that uses a variable on the first thread's stack, which the application has registered.
#include <hip/hip_runtime.h>

#include <cstdio>

__global__ void add(int* data) { data[threadIdx.x] += threadIdx.x; }

int main() {
  int data[64] = {};
  bool right = hipHostRegister(data, sizeof data, hipHostRegisterDefault) == hipSuccess;
  add<<<1, 64>>>(data);
  right = right && hipDeviceSynchronize() == hipSuccess && data[63] == 63;
  right = right && hipHostUnregister(data) == hipSuccess;
  std::printf("registered_stack: %s\n", right ? "ok" : "FAILED");
  return right ? 0 : 1;
}
