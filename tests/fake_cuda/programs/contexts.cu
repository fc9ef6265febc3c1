// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two contexts of one device, and code in each, by the driver's functions, which dlsym finds: work of both is under way
// at once. The argument names the module.
#include <thread>

#define BY_DLSYM
#include "driver.h"

extern "C" {
int cuCtxCreate_v2(CUcontext*, unsigned, int);
int cuCtxDestroy_v2(CUcontext);
}

constexpr unsigned kCount = 3000;

void use(const char* path, int by) {
  CUcontext context;
  CUmodule module;
  CUfunction scale;
  CUdeviceptr data;
  int host[kCount];
  unsigned count = kCount;
  CHECK(DRIVER(, cuCtxCreate_v2)(&context, 0, 0) == 0);
  CHECK(DRIVER(, cuModuleLoad)(&module, path) == 0);
  CHECK(DRIVER(, cuModuleGetFunction)(&scale, module, "scale") == 0);
  CHECK(DRIVER(, cuMemAlloc_v2)(&data, sizeof host) == 0);
  for (unsigned i = 0; i < kCount; ++i) host[i] = static_cast<int>(i);
  CHECK(DRIVER(, cuMemcpyHtoD_v2)(data, host, sizeof host) == 0);
  void* list[] = {&data, &by, &count};
  for (int round = 0; round < 3; ++round) {
    CHECK(DRIVER(, cuLaunchKernel)(scale, (kCount + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr, list, nullptr) == 0);
  }
  CHECK(DRIVER(, cuCtxSynchronize)() == 0);
  CHECK(DRIVER(, cuMemcpyDtoH_v2)(host, data, sizeof host) == 0);
  for (unsigned i = 0; i < kCount; ++i) CHECK(host[i] == static_cast<int>(i) * by * by * by);
  CHECK(DRIVER(, cuMemFree_v2)(data) == 0);
  CHECK(DRIVER(, cuModuleUnload)(module) == 0);
  CHECK(DRIVER(, cuCtxDestroy_v2)(context) == 0);
}

int main(int, char** arguments) {
  CHECK(DRIVER(, cuInit)(0) == 0);
  std::thread other(use, arguments[1], 3);
  use(arguments[1], 2);
  other.join();
  std::puts("contexts: ok");
}
