// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of CUDA's runtime interface (12, 13) that is hooked, called or played, and of the driver's, declared here so
// that no toolkit is needed to build. api_test.cc compares it with the toolkit's headers where there is one.
#pragma once
#include <cstddef>
#include <cstdint>

#include "vendor/common.h"
#include "vendor/cuda/graphs.h"

namespace mneme::vendor::cuda {

using Kernel = void*;  // cudaKernel_t, CUkernel

struct LaunchAttribute {  // cudaLaunchAttribute
  int which;
  int padding;
  unsigned value[16];  // the first of them where it is one number
};
inline constexpr int kLaunchCooperative = 2;
inline constexpr int kLaunchClusterDimension = 4;
inline constexpr int kLaunchDeviceUpdatable = 13;

struct LaunchConfig {  // cudaLaunchConfig_t
  Dimensions grid, block;
  size_t shared;
  Stream stream;
  const LaunchAttribute* attributes;
  unsigned count;
};

struct KernelNode {  // cudaKernelNodeParams
  const void* function;
  Dimensions grid, block;
  unsigned shared;
  void** arguments;
  void** extra;
};

// Parameters of other nodes, which are passed from one call to another: as large as any.
struct NodeParameters {
  alignas(16) char bytes[512];
};

struct PointerAttributes {  // cudaPointerAttributes
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
  long reserved[8];  // from 13 on: never written here
};
inline constexpr int kManagedMemory = 3;

struct FunctionAttributes {  // cudaFuncAttributes, and room for what later versions add
  char bytes[1024];
};

inline constexpr uint32_t kWrapperMagic = 0x466243b1;  // of a FatBinaryWrapper

// ---- the driver's ----

using Address = unsigned long long;  // CUdeviceptr
using Handle = unsigned long long;   // CUmemGenericAllocationHandle
using Library = void*;

inline constexpr uintptr_t kParameterEnd = 0;  // CU_LAUNCH_PARAM_END

struct DriverLaunchConfig {  // CUlaunchConfig
  Dimensions grid, block;
  unsigned shared;
  Stream stream;
  const LaunchAttribute* attributes;
  unsigned count;
};

struct DriverKernelNode {  // CUDA_KERNEL_NODE_PARAMS_v2
  Function function;
  Dimensions grid, block;
  unsigned shared;
  void** arguments;
  void** extra;
  Kernel kernel;  // in place of a function
  void* context;
};

struct EdgeData {  // CUgraphEdgeData
  unsigned char bytes[8];
};

struct MemoryProperties {  // CUmemAllocationProp
  int type;
  int handle_types;
  Location location;
  void* win32_metadata;
  unsigned char compression, rdma;
  unsigned short usage;
  unsigned char reserved[4];
};
}  // namespace mneme::vendor::cuda
