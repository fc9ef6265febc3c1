// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that leave early, for reasons of their own: before any barrier (whole blocks at once), and after the last one
// (each by itself).

#include "check.h"

constexpr int kBlock = 128;

// Sums the run of positive numbers that begins at each position and stays inside the block.
__global__ void run_sums(const int* in, int* out, int n, const int* skip_block) {
  __shared__ int tile[kBlock];
  if (skip_block[blockIdx.x]) return;  // the whole block agrees, so the barrier below is safe
  int t = threadIdx.x;
  int i = blockIdx.x * kBlock + t;
  tile[t] = i < n ? in[i] : 0;
  __syncthreads();

  if (i >= n) return;
  if (tile[t] <= 0) return;  // out[i] stays what it was
  int sum = 0;
  for (; t < kBlock; ++t) {
    if (tile[t] <= 0) {
      out[i] = sum;
      return;
    }
    sum += tile[t];
  }
  out[i] = -sum;  // cut off by the end of the block
}

int main() {
  Test test("early_return");
  const int n = 30001;
  const int blocks = blocks_for(n, kBlock);
  Random random(1);
  std::vector<int> in = random.values(n, -3, 20);
  std::vector<int> skip = random.values(blocks, 0, 1);
  std::vector<int> want = random.values(n, 1000, 2000);
  int* device_out = to_device(want);
  for (int i = 0; i < n; ++i) {
    if (skip[i / kBlock] || in[i] <= 0) continue;
    int end = (i / kBlock + 1) * kBlock, sum = 0, j = i;
    for (; j < end && j < n && in[j] > 0; ++j) sum += in[j];
    want[i] = j == end ? -sum : sum;
  }

  int* device_in = to_device(in);
  int* device_skip = to_device(skip);
  run_sums<<<blocks, kBlock>>>(device_in, device_out, n, device_skip);
  check(hipGetLastError());

  test.equal("out", to_host(device_out, n), want);
  check(hipFree(device_in));
  check(hipFree(device_out));
  check(hipFree(device_skip));
  return test.finish();
}
