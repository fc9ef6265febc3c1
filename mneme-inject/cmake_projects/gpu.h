// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runtime's functions under one name, as portability layers have them.
#pragma once
#ifdef __HIP__
#include <hip/hip_runtime.h>
#define gpuMalloc hipMalloc
#define gpuDeviceSynchronize hipDeviceSynchronize
#else
#define gpuMalloc cudaMalloc
#define gpuDeviceSynchronize cudaDeviceSynchronize
#endif
