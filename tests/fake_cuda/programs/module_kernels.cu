// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda.h"

extern "C" {

__device__ int offset;

__global__ void scale(int* data, int by, unsigned count) {
  if (index() < count) data[index()] *= by;
}

__global__ void shift(int* data, unsigned count) {
  if (index() < count) data[index()] += offset;
}
}
