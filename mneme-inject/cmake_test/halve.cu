// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cuda_runtime.h>

#include <mneme/MnemeAnnotation.hpp>

__global__ void halve(float* data) { data[threadIdx.x] /= 2; }

void run_halve(float* data) { halve<<<1, 1>>>(data); }
