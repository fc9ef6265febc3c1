// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hip/hip_runtime.h>

#include <mneme/MnemeAnnotation.hpp>

__global__ void scale(float* data, float factor) { data[threadIdx.x] *= factor; }

void run_scale(float* data) { scale<<<1, 1>>>(data, 3.0f); }
