// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// As much of the toolkit's cuda.h as the programs here use.
#pragma once
#include "cuda.h"

using CUmodule = struct Module*;
using CUfunction = struct Function*;
using CUlibrary = struct Library*;
using CUkernel = struct Kernel*;
using CUcontext = struct Context*;
using CUdeviceptr = unsigned long long;

extern "C" {
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(CUcontext*, int);
int cuCtxSetCurrent(CUcontext);
int cuCtxSynchronize();
int cuModuleLoad(CUmodule*, const char*);
int cuModuleUnload(CUmodule);
int cuModuleGetFunction(CUfunction*, CUmodule, const char*);
int cuModuleGetGlobal_v2(CUdeviceptr*, size_t*, CUmodule, const char*);
int cuLibraryLoadData(CUlibrary*, const void*, int*, void**, unsigned, int*, void**, unsigned);
int cuLibraryUnload(CUlibrary);
int cuLibraryGetKernel(CUkernel*, CUlibrary, const char*);
int cuLibraryGetGlobal(CUdeviceptr*, size_t*, CUlibrary, const char*);
int cuKernelGetFunction(CUfunction*, CUkernel);
int cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cudaStream_t,
                   void**, void**);
int cuMemAlloc_v2(CUdeviceptr*, size_t);
int cuMemFree_v2(CUdeviceptr);
int cuMemcpyHtoD_v2(CUdeviceptr, const void*, size_t);
int cuMemcpyDtoH_v2(void*, CUdeviceptr, size_t);
}
