// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is used of NVIDIA's driver API, declared by us: nothing of the vendor's is needed to build, and the library is
// looked for at run time.
#pragma once
#include <cstddef>

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

struct Location {  // CUmemLocation
  int type;
  int id;
};
inline constexpr int kLocationDevice = 1;

struct MemoryProperties {  // CUmemAllocationProp
  int type;
  int handle_types;
  Location location;
  void* win32_metadata;
  unsigned char compression, rdma;
  unsigned short usage;
  unsigned char reserved[4];
};
inline constexpr int kPinned = 1;

struct Access {  // CUmemAccessDesc
  Location location;
  int flags;
};
inline constexpr int kReadWrite = 3;

inline constexpr int kMinimumGranularity = 0;
inline constexpr unsigned kRegisterPortable = 1, kRegisterMapped = 2;  // CU_MEMHOSTREGISTER_…
inline constexpr int kMaxDynamicShared = 8;                   // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
inline constexpr int kSecondCacheSize = 38;                   // CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
inline constexpr int kMultiprocessors = 16;                   // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
inline constexpr int kStackSize = 0;                          // CU_LIMIT_STACK_SIZE
inline constexpr int kErrorLogBuffer = 5, kErrorLogSize = 6;  // CU_JIT_ERROR_LOG_BUFFER…
inline constexpr unsigned kNoTiming = 2;                      // CU_EVENT_DISABLE_TIMING
inline constexpr Result kNotFound = 500;
inline constexpr int kNonPortableCluster = 14;  // CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED

struct LaunchAttribute {  // CUlaunchAttribute
  int which;
  char padding[4];
  unsigned value[16];
};
inline constexpr int kLaunchCooperative = 2, kLaunchClusterDimension = 4;  // CU_LAUNCH_ATTRIBUTE_…

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
