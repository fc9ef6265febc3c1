// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that stay calls: functions that are not inlined and ask for their own thread's indices, one that works on
// shared memory, and one that calls itself.

#include "check.h"

constexpr int kBlock = 64;

__device__ __noinline__ int global_index() { return blockIdx.x * blockDim.x + threadIdx.x; }

__device__ __noinline__ int scaled(const int* data, int count) {
  int i = global_index();
  return i < count ? data[i] * static_cast<int>(threadIdx.x + 1) : 0;
}

__device__ __noinline__ void swap_with_partner(int* tile) {
  if (threadIdx.x % 2 != 0) return;
  int value = tile[threadIdx.x];
  tile[threadIdx.x] = tile[threadIdx.x + 1];
  tile[threadIdx.x + 1] = value;
}

// The sum below `node` of a binary tree that lies in an array, level by level. Odd levels count negative.
__device__ __noinline__ int tree_sum(const int* tree, int count, int node) {
  if (node >= count) return 0;
  return tree[node] - tree_sum(tree, count, 2 * node + 1) - tree_sum(tree, count, 2 * node + 2);
}

__global__ void calls(const int* data, int* out, int* sums, int count) {
  __shared__ int tile[kBlock];
  tile[threadIdx.x] = scaled(data, count);
  __syncthreads();
  swap_with_partner(tile);
  __syncthreads();
  int i = global_index();
  if (i >= count) return;
  out[i] = tile[threadIdx.x];
  sums[i] = tree_sum(data, count, i);
}

int main() {
  Test test("device_functions");
  const int count = 4000;
  std::vector<int> data = Random(1).values(count, -1000, 1000);
  std::vector<int> out(count), sums(data);
  for (int i = 0; i < count; ++i) {
    int partner = i ^ 1;  // both are in the same block, and `count` is even
    out[i] = data[partner] * (partner % kBlock + 1);
  }
  for (int i = count - 1; i > 0; --i) sums[(i - 1) / 2] -= sums[i];

  int* device_data = to_device(data);
  int* device_out = device_array<int>(count);
  int* device_sums = device_array<int>(count);
  calls<<<blocks_for(count, kBlock), kBlock>>>(device_data, device_out, device_sums, count);
  check(hipGetLastError());

  test.equal("out", to_host(device_out, count), out);
  test.equal("sums", to_host(device_sums, count), sums);
  check(hipFree(device_data));
  check(hipFree(device_out));
  check(hipFree(device_sums));
  return test.finish();
}
