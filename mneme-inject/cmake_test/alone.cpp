// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <hip/hip_runtime.h>

__global__ void twice(float* data) { data[threadIdx.x] *= 2; }

int main() { twice<<<1, 1>>>(nullptr); }
