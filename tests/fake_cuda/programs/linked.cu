// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A module that the driver's linker makes of a file, or with -DDATA of its contents; with -DJIT it is loaded, not
// linked, with options for the driver's compiler. What it is made of goes before its kernels are launched, and so does
// the linker; arguments lie in one buffer.
#include <fstream>
#include <iterator>
#include <string>

#include "cuda.h"
#include "driver.h"

constexpr unsigned kCount = 3000, kThreads = 128, kBlocks = (kCount + kThreads - 1) / kThreads;
constexpr int kCubin = 0, kPtx = 1;                                             // CU_JIT_INPUT_…
constexpr int kMaxRegisters = 0, kErrorLog = 5, kErrorLogSize = 6, kLevel = 7;  // CU_JIT_…

CUmodule module_of(const char* path) {
  char log[512] = "";
  int options[] = {kMaxRegisters, kErrorLog, kErrorLogSize, kLevel};
  void* values[] = {reinterpret_cast<void*>(40), log, reinterpret_cast<void*>(sizeof log), reinterpret_cast<void*>(2)};
  const std::string name = path;
  const bool is_ptx = name.ends_with(".ptx");
  std::ifstream file(path, std::ios::binary);
  std::string image(std::istreambuf_iterator<char>(file), {});
  CUmodule module;
#ifdef JIT
  CHECK(cuModuleLoadDataEx(&module, image.c_str(), 4, options, values) == 0);
#else
  CUlinkState link;
  void* cubin = nullptr;
  size_t size = 0;
  CHECK(cuLinkCreate_v2(4, options, values, &link) == 0);
#ifdef DATA
  const size_t bytes = image.size() + is_ptx;  // PTX ends with a zero
  CHECK(cuLinkAddData_v2(link, is_ptx ? kPtx : kCubin, image.data(), bytes, path, 0, nullptr, nullptr) == 0);
#else
  CHECK(cuLinkAddFile_v2(link, is_ptx ? kPtx : kCubin, path, 0, nullptr, nullptr) == 0);
#endif
  CHECK(cuLinkComplete(link, &cubin, &size) == 0 && size > 0);
  CHECK(cuModuleLoadDataEx(&module, cubin, 0, nullptr, nullptr) == 0);
  CHECK(cuLinkDestroy(link) == 0);
#endif
  image.assign(image.size(), 'x');
  return module;
}

template <class Packed>
void launch(CUfunction function, Packed& packed, size_t bytes) {
  void* extra[] = {reinterpret_cast<void*>(1), &packed, reinterpret_cast<void*>(2), &bytes, nullptr};
  CHECK(cuLaunchKernel(function, kBlocks, 1, 1, kThreads, 1, 1, 0, nullptr, nullptr, extra) == 0);
}

int main(int, char** arguments) {
  CUcontext context;
  CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxSetCurrent(context) == 0);
  CUmodule module = module_of(arguments[1]);
  CUfunction scale, shift;
  CUdeviceptr data, variable;
  size_t size;
  static int host[kCount];
  int offset = 40;
  CHECK(cuModuleGetFunction(&scale, module, "scale") == 0 && cuModuleGetFunction(&shift, module, "shift") == 0);
  CHECK(cuModuleGetGlobal_v2(&variable, &size, module, "offset") == 0);
  CHECK(cuMemcpyHtoD_v2(variable, &offset, sizeof offset) == 0);
  for (unsigned i = 0; i < kCount; ++i) host[i] = static_cast<int>(i);
  CHECK(cuMemAlloc_v2(&data, sizeof host) == 0 && cuMemcpyHtoD_v2(data, host, sizeof host) == 0);
  struct {
    CUdeviceptr data;
    int by;
    unsigned count;
  } of_scale{data, 3, kCount};
  struct {
    CUdeviceptr data;
    unsigned count;
  } of_shift{data, kCount};
  launch(scale, of_scale, sizeof of_scale);
  launch(shift, of_shift, sizeof data + sizeof kCount);  // padding at the end is none of the arguments
  CHECK(cuCtxSynchronize() == 0 && cuMemcpyDtoH_v2(host, data, sizeof host) == 0);
  for (unsigned i = 0; i < kCount; ++i) CHECK(host[i] == static_cast<int>(i) * 3 + offset);
  CHECK(cuMemFree_v2(data) == 0 && cuModuleUnload(module) == 0);
  std::puts("linked: ok");
}
