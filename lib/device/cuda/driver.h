// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is used of NVIDIA's driver API, declared by us: nothing of the vendor's is needed to build, and the library is
// looked for at run time.
#pragma once
#include <cstddef>

namespace mneme::device::cuda {

using Result = int;  // 0: all is well
using Address = unsigned long long;
struct Context;
struct Module;
struct Function;
struct Stream;
struct Event;

// Entry points of libcuda.so.1, each by the name under which it is exported (of some an older one is, too).
struct Driver {
  Result (*cuInit)(unsigned flags);
  Result (*cuDriverGetVersion)(int* version);  // 13000: CUDA 13.0
  Result (*cuGetErrorString)(Result result, const char** text);
  Result (*cuDeviceGet)(int* device, int ordinal);
  Result (*cuDeviceGetName)(char* name, int size, int device);
  Result (*cuDevicePrimaryCtxRetain)(Context** context, int device);
  Result (*cuCtxSetCurrent)(Context* context);
  Result (*cuModuleLoadData)(Module** module, const void* image);
  Result (*cuModuleGetFunction)(Function** function, Module* module, const char* name);
  Result (*cuMemAlloc_v2)(Address* address, size_t bytes);
  Result (*cuMemFree_v2)(Address address);
  Result (*cuMemcpyHtoD_v2)(Address to, const void* from, size_t bytes);
  Result (*cuMemcpyDtoH_v2)(void* to, Address from, size_t bytes);
  Result (*cuMemcpyDtoDAsync_v2)(Address to, Address from, size_t bytes, Stream* stream);
  Result (*cuLaunchKernel)(Function* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                           unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream* stream, void** arguments,
                           void** extra);
  Result (*cuCtxSynchronize)();
  Result (*cuEventCreate)(Event** event, unsigned flags);
  Result (*cuEventRecord)(Event* event, Stream* stream);
  Result (*cuEventSynchronize)(Event* event);
  Result (*cuEventElapsedTime)(float* milliseconds, Event* from, Event* to);
};

// Of this process; the first call initialises it. Throws Error (Exit::kMissing) where there is no driver or no device.
const Driver& driver();

// Throws Error with what the driver says and what was being done ("allocating 64 MiB"), unless all is well.
void check(Result result, const char* doing);

}  // namespace mneme::device::cuda
