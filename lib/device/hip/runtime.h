// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is used of AMD's HIP runtime, declared by us: nothing of the vendor's is needed to build, and the library is
// looked for at run time. Nothing is used here that is laid out or numbered otherwise in ROCm 5, 6 or 7, but for what
// memory is to be, of which there are both forms.
#pragma once
#include <cstddef>
#include <cstdint>

#include "vendor/hip/api.h"

namespace mneme::device::hip {

using Result = int;  // 0: all is well
inline constexpr Result kOutOfMemory = 2, kNotFound = 500;
struct Module;
struct Function;
struct Stream;
struct Event;
struct Allocation;  // hipMemGenericAllocationHandle_t

using vendor::Access, vendor::Location, vendor::kLocationDevice, vendor::kPinned, vendor::kReadWrite;
using vendor::kNoTiming, vendor::kRegisterMapped, vendor::kRegisterPortable;
using vendor::kStackSize;  // where it can be set
using vendor::hip::MemoryProperties, vendor::hip::MemoryPropertiesOf52;

inline constexpr int kCopyAnyWay = 4;        // hipMemcpyDefault
inline constexpr int kSecondCacheSize = 19;  // hipDeviceAttributeL2CacheSize
// Keys of hipModuleLaunchKernel's `extra`: what follows is the bytes of all arguments, and a pointer to their number.
inline constexpr unsigned long kArgumentBuffer = 1, kArgumentSize = 2, kArgumentEnd = 3;

struct Runtime {
  Result (*hipInit)(unsigned flags);
  Result (*hipGetDeviceCount)(int* count);
  Result (*hipSetDevice)(int device);
  const char* (*hipGetErrorString)(Result result);
  Result (*hipGetLastError)();
  Result (*hipDeviceGetAttribute)(int* value, int attribute, int device);
  Result (*hipDeviceSynchronize)();
  Result (*hipModuleLoadData)(Module** module, const void* image);
  Result (*hipModuleUnload)(Module* module);
  Result (*hipModuleGetFunction)(Function** function, Module* module, const char* name);
  Result (*hipModuleGetGlobal)(void** address, size_t* bytes, Module* module, const char* name);
  Result (*hipModuleLaunchKernel)(Function* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                  Stream* stream, void** arguments, void** extra);
  Result (*hipMalloc)(void** address, size_t bytes);
  Result (*hipFree)(void* address);
  Result (*hipMemGetInfo)(size_t* left, size_t* total);
  Result (*hipMemset)(void* address, int value, size_t bytes);
  Result (*hipMemcpy)(void* to, const void* from, size_t bytes, int kind);
  Result (*hipMemcpyAsync)(void* to, const void* from, size_t bytes, int kind, Stream* stream);
  Result (*hipHostRegister)(void* memory, size_t bytes, unsigned flags);
  Result (*hipHostUnregister)(void* memory);
  Result (*hipHostGetDevicePointer)(void** address, void* memory, unsigned flags);
  Result (*hipEventCreate)(Event** event);
  Result (*hipEventCreateWithFlags)(Event** event, unsigned flags);
  Result (*hipEventDestroy)(Event* event);
  Result (*hipEventRecord)(Event* event, Stream* stream);
  Result (*hipEventSynchronize)(Event* event);
  Result (*hipEventElapsedTime)(float* milliseconds, Event* from, Event* to);
  // Not in every release; null then.
  Result (*hipDeviceGetLimit)(size_t* value, int limit);
  Result (*hipDeviceSetLimit)(int limit, size_t value);
  Result (*hipModuleLaunchCooperativeKernel)(Function* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                             unsigned block_x, unsigned block_y, unsigned block_z,
                                             unsigned shared_bytes, Stream* stream, void** arguments);
  Result (*hipMemAddressReserve)(void** address, size_t bytes, size_t alignment, void* wanted,
                                 unsigned long long flags);
  Result (*hipMemAddressFree)(void* address, size_t bytes);
  Result (*hipMemCreate)(Allocation** allocation, size_t bytes, const void* properties, unsigned long long flags);
  Result (*hipMemRelease)(Allocation* allocation);
  Result (*hipMemMap)(void* address, size_t bytes, size_t offset, Allocation* allocation, unsigned long long flags);
  Result (*hipMemUnmap)(void* address, size_t bytes);
  Result (*hipMemSetAccess)(void* address, size_t bytes, const Access* access, size_t count);
  bool has_virtual_memory;  // all of them; it is not said that they work
};

// Of this process; the first call initialises it and makes the first device current. Throws Error (Exit::kMissing)
// where there is no runtime or no device.
const Runtime& runtime();

// Throws Error with what the runtime says and what was being done ("allocating 64 MiB"), unless all is well.
void check(Result result, const char* doing);

// Whether it is well. What fails is an attempt of ours, which nobody is to find as the last error.
bool succeeds(Result result);

inline void* pointer_to(uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace mneme::device::hip
