// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Modules, which are the files that the arguments name, one after the other: each goes before the next one comes, and
// the last one before the program ends.
#include "cuda.h"
#include "driver.h"

constexpr unsigned kCount = 3000;

int main(int argc, char** arguments) {
  CUcontext context;
  CUdeviceptr data;
  static int host[kCount];
  int by = 3;
  unsigned count = kCount;
  CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxSetCurrent(context) == 0);
  for (unsigned i = 0; i < kCount; ++i) host[i] = static_cast<int>(i);
  CHECK(cuMemAlloc_v2(&data, sizeof host) == 0 && cuMemcpyHtoD_v2(data, host, sizeof host) == 0);
  for (int i = 1; i < argc; ++i) {
    CUmodule module;
    CUfunction scale;
    void* list[] = {&data, &by, &count};
    CHECK(cuModuleLoad(&module, arguments[i]) == 0 && cuModuleGetFunction(&scale, module, "scale") == 0);
    CHECK(cuLaunchKernel(scale, (kCount + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr, list, nullptr) == 0);
    CHECK(cuCtxSynchronize() == 0 && cuModuleUnload(module) == 0);
  }
  CHECK(cuMemcpyDtoH_v2(host, data, sizeof host) == 0 && cuMemFree_v2(data) == 0);
  std::printf("unloaded: %d\n", host[100]);
}
