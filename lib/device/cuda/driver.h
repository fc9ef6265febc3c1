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
inline constexpr int kL2CacheSize = 38;                       // CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
inline constexpr int kMultiprocessors = 16;                   // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
inline constexpr int kErrorLogBuffer = 5, kErrorLogSize = 6;  // CU_JIT_ERROR_LOG_BUFFER…
inline constexpr Result kNotFound = 500;
inline constexpr int kNonPortableCluster = 14;  // CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
inline constexpr int kRequiredCluster = 11;     // CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH; height and depth follow

struct LaunchConfiguration {  // CUlaunchConfig
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  Stream* stream;
  LaunchAttribute* attributes;
  unsigned count;
};

struct Driver {
#define FUNCTION(type, name, parameters) type(*name) parameters;
#include "device/cuda/driver.def"
#undef FUNCTION
};

// Of this process; the first call initialises it. Throws Error (Exit::kMissing) where there is no driver or no device.
const Driver& driver();

// Throws Error with what the driver says and what was being done ("allocating 64 MiB"), unless all is well.
void check(Result result, const char* doing);

}  // namespace mneme::device::cuda
