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

inline constexpr int kCopyAnyWay = 4;    // hipMemcpyDefault
inline constexpr int kL2CacheSize = 19;  // hipDeviceAttributeL2CacheSize
// Keys of hipModuleLaunchKernel's `extra`: what follows is the bytes of all arguments, and a pointer to their number.
inline constexpr unsigned long kArgumentBuffer = 1, kArgumentSize = 2, kArgumentEnd = 3;

struct Runtime {
#define FUNCTION(type, name, parameters) type(*name) parameters;
#define OPTIONAL(type, name, parameters) type(*name) parameters;  // may be null
#include "device/hip/runtime.def"
#undef FUNCTION
#undef OPTIONAL
  bool has_virtual_memory() const {  // all of them; it is not said that they work
    return hipMemAddressReserve && hipMemAddressFree && hipMemCreate && hipMemRelease && hipMemMap && hipMemUnmap &&
           hipMemSetAccess;
  }
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
