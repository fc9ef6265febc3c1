// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <cuda_fp16.h>

inline __device__ __half2 __hisinf2(__half2 value) {
  return __halves2half2(__half(__hisinf(__low2half(value)) != 0), __half(__hisinf(__high2half(value)) != 0));
}
inline __device__ __half __clamp_01(__half value) { return __hadd_sat(value, __half(0)); }
