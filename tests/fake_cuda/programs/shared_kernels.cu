// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda.h"

extern __shared__ int room[];

// Each block turns its part, by way of shared memory at both of its ends.
extern "C" __global__ void turn(int* data, unsigned threads, unsigned words) {
#ifdef __CUDA_ARCH__
  const unsigned from = THREAD(x), to = threads - 1 - from;
  room[from] = data[index()];
  __syncthreads();
  room[words - 1 - from] = room[to];
  __syncthreads();
  data[index()] = room[words - 1 - from];
#endif
}
