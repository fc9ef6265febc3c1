// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asks for a stack of 16 KiB for each thread, as programs for ROCm 5.3 and later may, between two kernels.
#include <dlfcn.h>
#include <hip/hip_runtime.h>

#include <cstdio>

__global__ void before(int* out) { out[threadIdx.x] = 1; }
__global__ void after(int* out) { out[threadIdx.x] += 2; }

int main() {
  constexpr int kStackSize = 0;  // hipLimitStackSize
  auto set = reinterpret_cast<hipError_t (*)(int, size_t)>(dlsym(RTLD_DEFAULT, "hipDeviceSetLimit"));
  int *out = nullptr, host[8] = {};
  bool well = set && hipMalloc(reinterpret_cast<void**>(&out), sizeof host) == hipSuccess;
  before<<<1, 8>>>(out);
  well = well && set(kStackSize, 16 << 10) == hipSuccess;
  after<<<1, 8>>>(out);
  well = well && hipMemcpy(host, out, sizeof host, hipMemcpyDeviceToHost) == hipSuccess;
  std::puts(well && host[7] == 3 && hipGetLastError() == hipSuccess ? "stacks: ok" : "stacks: FAILED");
  return hipFree(out);
}
