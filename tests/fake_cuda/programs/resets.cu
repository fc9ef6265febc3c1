// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The driver's functions, which dlsym finds: the primary context is reset between two launches, with all that it had.
// The argument names the module.
#define BY_DLSYM
#include "driver.h"

extern "C" int cuDevicePrimaryCtxReset_v2(int);

constexpr unsigned kCount = 3000;

void use(const char* path, int by) {
  CUcontext context;
  CUmodule module;
  CUfunction scale;
  CUdeviceptr data;
  int host[kCount];
  unsigned count = kCount;
  CHECK(DRIVER(, cuDevicePrimaryCtxRetain)(&context, 0) == 0 && DRIVER(, cuCtxSetCurrent)(context) == 0);
  CHECK(DRIVER(, cuModuleLoad)(&module, path) == 0);
  CHECK(DRIVER(, cuModuleGetFunction)(&scale, module, "scale") == 0);
  CHECK(DRIVER(, cuMemAlloc_v2)(&data, sizeof host) == 0);
  for (unsigned i = 0; i < kCount; ++i) host[i] = static_cast<int>(i);
  CHECK(DRIVER(, cuMemcpyHtoD_v2)(data, host, sizeof host) == 0);
  void* list[] = {&data, &by, &count};
  CHECK(DRIVER(, cuLaunchKernel)(scale, (kCount + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr, list, nullptr) == 0);
  CHECK(DRIVER(, cuMemcpyDtoH_v2)(host, data, sizeof host) == 0);
  for (unsigned i = 0; i < kCount; ++i) CHECK(host[i] == static_cast<int>(i) * by);
}

int main(int, char** arguments) {
  CHECK(DRIVER(, cuInit)(0) == 0);
  for (int by = 2; by < 5; ++by) {
    use(arguments[1], by);
    CHECK(DRIVER(, cuDevicePrimaryCtxReset_v2)(0) == 0);
  }
  std::puts("resets: ok");
}
