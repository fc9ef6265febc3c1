// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is used of NVIDIA's driver API, declared by us: nothing of the vendor's is needed to build, and the library is
// looked for at run time.
#pragma once
#include <cstddef>

#include "vendor/cuda/api.h"
#include "vendor/cuda/textures.h"

namespace mneme::device::cuda {

using Result = int;  // 0: all is well
using Address = unsigned long long;
struct Context;
struct Module;
struct Function;
struct Stream;
struct Event;
using Handle = unsigned long long;  // CUmemGenericAllocationHandle

using vendor::Access, vendor::Location, vendor::kLocationDevice, vendor::kPinned, vendor::kReadWrite;
using vendor::kNoTiming, vendor::kRegisterMapped, vendor::kRegisterPortable, vendor::kStackSize;
using vendor::cuda::kLaunchClusterDimension, vendor::cuda::kLaunchCooperative, vendor::cuda::LaunchAttribute;
using vendor::cuda::MemoryProperties;

inline constexpr int kMinimumGranularity = 0;
inline constexpr int kMaxDynamicShared = 8;                   // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
inline constexpr int kSecondCacheSize = 38;                   // CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
inline constexpr int kMultiprocessors = 16;                   // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
inline constexpr int kErrorLogBuffer = 5, kErrorLogSize = 6;  // CU_JIT_ERROR_LOG_BUFFER…
inline constexpr Result kNotFound = 500;
inline constexpr int kNonPortableCluster = 14;  // CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED

struct LaunchConfiguration {  // CUlaunchConfig
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  Stream* stream;
  LaunchAttribute* attributes;
  unsigned count;
};

// Entry points of libcuda.so.1, each by the name under which it is exported (of some an older one is, too).
struct Driver {
  Result (*cuInit)(unsigned flags);
  Result (*cuDriverGetVersion)(int* version);  // 13000: CUDA 13.0
  Result (*cuGetErrorString)(Result result, const char** text);
  Result (*cuDeviceGet)(int* device, int ordinal);
  Result (*cuDeviceGetName)(char* name, int size, int device);
  Result (*cuDeviceGetAttribute)(int* value, int attribute, int device);
  Result (*cuDevicePrimaryCtxRetain)(Context** context, int device);
  Result (*cuCtxSetCurrent)(Context* context);
  Result (*cuCtxGetLimit)(size_t* value, int limit);
  Result (*cuCtxSetLimit)(int limit, size_t value);
  Result (*cuModuleLoadData)(Module** module, const void* image);
  Result (*cuModuleLoadDataEx)(Module** module, const void* image, unsigned count, const int* options, void** values);
  Result (*cuModuleUnload)(Module* module);
  Result (*cuModuleGetFunction)(Function** function, Module* module, const char* name);
  Result (*cuModuleGetGlobal_v2)(Address* address, size_t* bytes, Module* module, const char* name);
  Result (*cuFuncSetAttribute)(Function* function, int attribute, int value);
  Result (*cuMemAlloc_v2)(Address* address, size_t bytes);
  Result (*cuMemFree_v2)(Address address);
  Result (*cuMemGetAllocationGranularity)(size_t* bytes, const MemoryProperties* properties, int which);
  Result (*cuMemAddressReserve)(Address* address, size_t bytes, size_t alignment, Address wanted,
                                unsigned long long flags);
  Result (*cuMemAddressFree)(Address address, size_t bytes);
  Result (*cuMemCreate)(Handle* handle, size_t bytes, const MemoryProperties* properties, unsigned long long flags);
  Result (*cuMemRelease)(Handle handle);
  Result (*cuMemMap)(Address address, size_t bytes, size_t offset, Handle handle, unsigned long long flags);
  Result (*cuMemUnmap)(Address address, size_t bytes);
  Result (*cuMemSetAccess)(Address address, size_t bytes, const Access* access, size_t count);
  Result (*cuMemHostRegister_v2)(void* memory, size_t bytes, unsigned flags);
  Result (*cuMemHostUnregister)(void* memory);
  Result (*cuMemHostGetDevicePointer_v2)(Address* address, void* memory, unsigned flags);
  Result (*cuMemsetD8_v2)(Address address, unsigned char value, size_t bytes);
  Result (*cuMemcpyDtoD_v2)(Address to, Address from, size_t bytes);
  Result (*cuMemcpyHtoD_v2)(Address to, const void* from, size_t bytes);
  Result (*cuMemcpyDtoH_v2)(void* to, Address from, size_t bytes);
  Result (*cuMemcpyHtoDAsync_v2)(Address to, const void* from, size_t bytes, Stream* stream);
  Result (*cuMemsetD8Async)(Address address, unsigned char value, size_t bytes, Stream* stream);
  Result (*cuMemcpyDtoDAsync_v2)(Address to, Address from, size_t bytes, Stream* stream);
  Result (*cuArray3DCreate_v2)(vendor::cuda::Array* array, const vendor::cuda::ArrayDescription* wanted);
  Result (*cuArrayDestroy)(vendor::cuda::Array array);
  Result (*cuMipmappedArrayCreate)(vendor::cuda::Array* array, const vendor::cuda::ArrayDescription* wanted,
                                   unsigned levels);
  Result (*cuMipmappedArrayDestroy)(vendor::cuda::Array array);
  Result (*cuMipmappedArrayGetLevel)(vendor::cuda::Array* array, vendor::cuda::Array levels, unsigned level);
  Result (*cuMemcpy3D_v2)(const vendor::cuda::Copy* copy);
  Result (*cuTexObjectCreate)(vendor::cuda::Object* object, const vendor::cuda::Resource* resource,
                              const vendor::cuda::Sampling* sampling, const vendor::cuda::View* view);
  Result (*cuTexObjectDestroy)(vendor::cuda::Object object);
  Result (*cuSurfObjectCreate)(vendor::cuda::Object* object, const vendor::cuda::Resource* resource);
  Result (*cuSurfObjectDestroy)(vendor::cuda::Object object);
  Result (*cuLaunchKernel)(Function* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                           unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream* stream, void** arguments,
                           void** extra);
  Result (*cuLaunchKernelEx)(const LaunchConfiguration* configuration, Function* function, void** arguments,
                             void** extra);
  Result (*cuCtxSynchronize)();
  Result (*cuEventCreate)(Event** event, unsigned flags);
  Result (*cuEventDestroy_v2)(Event* event);
  Result (*cuEventRecord)(Event* event, Stream* stream);
  Result (*cuEventSynchronize)(Event* event);
  Result (*cuEventElapsedTime)(float* milliseconds, Event* from, Event* to);
};

// Of this process; the first call initialises it. Throws Error (Exit::kMissing) where there is no driver or no device.
const Driver& driver();

// Throws Error with what the driver says and what was being done ("allocating 64 MiB"), unless all is well.
void check(Result result, const char* doing);

}  // namespace mneme::device::cuda
