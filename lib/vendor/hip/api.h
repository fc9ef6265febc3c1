// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of HIP's runtime interface (5.x) that is hooked or called, declared here so that no vendor toolkit is
// needed to build. api_test.cc compares it with the vendor's header where there is one.
#pragma once
#include <cstddef>
#include <cstdint>

#include "vendor/common.h"

namespace mneme::vendor::hip {

inline constexpr Status kInvalidValue = 1, kOutOfMemory = 2;
using Handle = void*;  // hipMemGenericAllocationHandle_t

struct PointerAttributes {  // hipPointerAttribute_t
  int memory_type;
  int device;
  void* device_pointer;
  void* host_pointer;
  int is_managed;
  unsigned flags;
};
inline constexpr int kMemoryTypeHost = 0;  // up to ROCm 5
inline constexpr int kMemoryTypeDevice = 1;
inline constexpr int kMemoryTypeHostNow = 1;  // from ROCm 6 on, where 0 is memory of no kind
inline constexpr int kMemoryTypeDeviceNow = 2;
inline constexpr int kMemoryTypeManagedNow = 3;

inline constexpr int kAttributeMemoryType = 2;  // HIP_POINTER_ATTRIBUTE_…
inline constexpr int kAttributeDevicePointer = 3;
inline constexpr int kAttributeHostPointer = 4;
inline constexpr int kAttributeBufferId = 7;
inline constexpr int kAttributeIsManaged = 8;
inline constexpr int kAttributeDeviceOrdinal = 9;
inline constexpr int kAttributeRangeStart = 11;
inline constexpr int kAttributeRangeSize = 12;

struct MemoryPropertiesOf52 {  // hipMemAllocationProp, in HIP 5.2
  unsigned char compression;
  Location location;
  int handle_type;
  int type;
  unsigned short usage;
  void* win32_metadata;
};
struct MemoryProperties {  // in ROCm 6 and 7, and the last of ROCm 5
  int type;
  int handle_type;
  Location location;
  void* win32_metadata;
  unsigned char compression, direct_rdma;
  unsigned short usage;
};
inline constexpr int kFileDescriptor = 1;

inline constexpr unsigned kAttachGlobal = 1;  // hipMemAttachGlobal

inline constexpr int kPoolReserved = 5;  // hipMemPoolAttr…MemCurrent, …MemHigh; of 64 bits
inline constexpr int kPoolReservedMost = 6;
inline constexpr int kPoolUsed = 7;
inline constexpr int kPoolUsedMost = 8;

struct PoolProperties {  // hipMemPoolProps
  int type;
  int handle_types;
  Location location;
  void* win32_metadata;
  unsigned char reserved[64];
};

struct KernelNode {  // hipKernelNodeParams
  Dimensions block;
  void** extra;
  const void* function;
  Dimensions grid;
  void** arguments;
  unsigned shared;
};

// hipGraphNodeType, from 0 on; from ROCm 6 on that is what they are.
inline constexpr int kKernelNode = 0, kCopyNode = 1, kFillNode = 2, kHostNode = 3, kGraphNode = 4, kEmptyNode = 5;
inline constexpr int kWaitNode = 6, kRecordNode = 7, kAllocationNode = 10, kFreeNode = 11, kFromSymbolNode = 12;
inline constexpr int kToSymbolNode = 13;
// In early releases, where they begin with 1, copies of other kinds follow up to this.
inline constexpr int kLastEarlyNode = 11;

inline constexpr uint32_t kWrapperMagic = 0x48495046;  // of a FatBinaryWrapper

// HIP_LAUNCH_PARAM_…, in hipModuleLaunchKernel's `extra`.
inline constexpr uintptr_t kParameterEnd = 3;

// Launch bounds of a cooperative launch over several devices: passed on, never looked into.
struct LaunchParameters;

}  // namespace mneme::vendor::hip
