// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of integers, one a block. A thread adds `items`, blocked (1) or striped (0); a block by a tree in shared memory
// (0), by its first thread (1) or by atomics in shared memory (2).

#include "space.h"

__global__ void sums(const int* in, int* out, int count, int items, int method, int blocked) {
  extern __shared__ int parts[];
  int thread = threadIdx.x, first = blockIdx.x * blockDim.x * items;
  int sum = 0;
  for (int i = 0; i < items; ++i) {
    int at = first + (blocked ? thread * items + i : i * blockDim.x + thread);
    if (at < count) sum += in[at] * in[at] >> 3;
  }
  if (method == 2) {
    if (thread == 0) parts[0] = 0;
    __syncthreads();
    atomicAdd(&parts[0], sum);
    __syncthreads();
  } else {
    parts[thread] = sum;
    __syncthreads();
    if (method == 0) {
      for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (thread < half) parts[thread] += parts[thread + half];
        __syncthreads();
      }
    } else if (thread == 0) {
      for (int i = 1; i < blockDim.x; ++i) parts[0] += parts[i];
    }
  }
  if (thread == 0) atomicAdd(out, parts[0]);
}

int main() {
  const int count = 100'000;
  Random random(1);
  int* in = to_device(random.values(count, -1000, 1000));
  int* out = to_device(std::vector<int>(1));
  for_each_of({{32, 64, 128, 256, 512, 1024, 2048}, {1, 2, 3, 4, 6, 8, 16, 32}, {0, 1, 2}, {0, 1}},
              [&](const std::vector<int>& p) {
                int block = p[0], items = p[1], method = p[2], blocked = p[3];
                check(hipMemset(out, 0, sizeof(int)));
                sums<<<dim3(blocks_for(count, block * items)), dim3(block), block * sizeof(int)>>>(
                    in, out, count, items, method, blocked);
                ignore_last_error();
              });
  check(hipDeviceSynchronize());
}
