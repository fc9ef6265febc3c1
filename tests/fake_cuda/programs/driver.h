// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// As much of the toolkit's cuda.h as the programs here use.
#pragma once
#include <dlfcn.h>

#include "cuda.h"

using CUmodule = struct Module*;
using CUfunction = struct Function*;
using CUlibrary = struct Library*;
using CUkernel = struct Kernel*;
using CUcontext = struct Context*;
using CUlinkState = struct LinkState*;
using CUdeviceptr = unsigned long long;
using MemoryHandle = unsigned long long;

struct MemoryProperties {  // CUmemAllocationProp
  int type, handle_types, location, device;
  void* windows;
  unsigned char flags[8];
};
struct MemoryAccess {  // CUmemAccessDesc
  int location, device, flags;
};

struct DriverLaunchConfig {  // CUlaunchConfig
  dim3 grid, block;
  unsigned shared;
  cudaStream_t stream;
  LaunchAttribute* attributes;
  unsigned count;
};

extern "C" {
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(CUcontext*, int);
int cuCtxSetCurrent(CUcontext);
int cuCtxSynchronize();
int cuCtxSetLimit(int, size_t);
int cuModuleLoad(CUmodule*, const char*);
int cuModuleLoadDataEx(CUmodule*, const void*, unsigned, int*, void**);
int cuModuleLoadFatBinary(CUmodule*, const void*);
int cuModuleUnload(CUmodule);
int cuFuncGetModule(CUmodule*, CUfunction);
int cuModuleGetFunction(CUfunction*, CUmodule, const char*);
int cuFakeGetFunction(CUfunction*, CUmodule, const char*);  // tests/fake_cuda/driver_modules.cc
int cuModuleGetGlobal_v2(CUdeviceptr*, size_t*, CUmodule, const char*);
int cuLibraryLoadData(CUlibrary*, const void*, int*, void**, unsigned, int*, void**, unsigned);
int cuLibraryUnload(CUlibrary);
int cuLibraryGetKernel(CUkernel*, CUlibrary, const char*);
int cuLibraryGetGlobal(CUdeviceptr*, size_t*, CUlibrary, const char*);
int cuKernelGetFunction(CUfunction*, CUkernel);
int cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cudaStream_t,
                   void**, void**);
int cuLaunchKernelEx(const DriverLaunchConfig*, CUfunction, void**, void**);
int cuFuncSetAttribute(CUfunction, int, int);
int cuKernelSetAttribute(int, int, CUkernel, int);
int cuLinkCreate_v2(unsigned, int*, void**, CUlinkState*);
int cuLinkAddData_v2(CUlinkState, int, void*, size_t, const char*, unsigned, int*, void**);
int cuLinkAddFile_v2(CUlinkState, int, const char*, unsigned, int*, void**);
int cuLinkComplete(CUlinkState, void**, size_t*);
int cuLinkDestroy(CUlinkState);
int cuStreamCreate(cudaStream_t*, unsigned);
int cuStreamDestroy_v2(cudaStream_t);
int cuStreamSynchronize(cudaStream_t);
int cuMemAlloc_v2(CUdeviceptr*, size_t);
int cuMemFree_v2(CUdeviceptr);
int cuPointerGetAttribute(void*, int, CUdeviceptr);
int cuPointerGetAttributes(unsigned, int*, void**, CUdeviceptr);
int cuMemAddressReserve(CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long);
int cuMemAddressFree(CUdeviceptr, size_t);
int cuMemGetAllocationGranularity(size_t*, const MemoryProperties*, int);
int cuMemCreate(MemoryHandle*, size_t, const MemoryProperties*, unsigned long long);
int cuMemRetainAllocationHandle(MemoryHandle*, void*);
int cuMemRelease(MemoryHandle);
int cuMemMap(CUdeviceptr, size_t, size_t, MemoryHandle, unsigned long long);
int cuMemUnmap(CUdeviceptr, size_t);
int cuMemSetAccess(CUdeviceptr, size_t, const MemoryAccess*, size_t);
int cuMemsetD8_v2(CUdeviceptr, unsigned char, size_t);
int cuMemcpyHtoD_v2(CUdeviceptr, const void*, size_t);
int cuMemcpyDtoH_v2(void*, CUdeviceptr, size_t);
int cuGetProcAddress_v2(const char*, void**, int, unsigned long long, int*);
int cudaGetFuncBySymbol(CUfunction*, const void*);
int cudaGetDriverEntryPointByVersion(const char*, void**, unsigned, unsigned long long, int*);
}

// With -DLOOKED_UP what matters to a recorder is looked up by name, in both ways that there are; with -DBY_DLSYM it is
// looked up in the library.
#if defined(BY_DLSYM)
template <class Function>
Function* look_up(Function*, const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  CHECK(driver);
  void* found = dlsym(driver, name);
  CHECK(found);
  return reinterpret_cast<Function*>(found);
}
#define DRIVER(name, exported) look_up(&exported, #exported)
#elif defined(LOOKED_UP)
template <class Function>
Function* look_up(Function*, const char* name) {
  constexpr int kVersion = 12000;
  void *by_driver = nullptr, *by_runtime = nullptr;
  int status = 0;
  CHECK(cuGetProcAddress_v2(name, &by_driver, kVersion, 0, &status) == 0);
  CHECK(cudaGetDriverEntryPointByVersion(name, &by_runtime, kVersion, 0, &status) == 0);
  CHECK(by_driver && by_driver == by_runtime);
  return reinterpret_cast<Function*>(by_driver);
}
#define DRIVER(name, exported) look_up(&exported, #name)
#else
#define DRIVER(name, exported) exported
#endif
