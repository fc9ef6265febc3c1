// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The vendor's own declarations of what this folder defines.
#pragma once
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_DISABLE_CPP_FUNCTIONS__ 1
#include <hip/hip_runtime_api.h>

// Of ROCm 5.3 and later.
#pragma GCC visibility push(default)
extern "C" hipError_t hipDeviceSetLimit(enum hipLimit_t limit, size_t value);
// And 5.5.
extern "C" hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned grid_x, unsigned grid_y,
                                                       unsigned grid_z, unsigned block_x, unsigned block_y,
                                                       unsigned block_z, unsigned shared, hipStream_t stream,
                                                       void** arguments);
#pragma GCC visibility pop
namespace mneme::hostgpu {
inline constexpr auto kLimitStackSize = static_cast<hipLimit_t>(0);  // hipLimitStackSize
}
