// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An inclusive prefix sum of a long array: scan each block in shared memory, scan the blocks' sums with the same
// kernel, add them.

#include "check.h"

constexpr unsigned kBlock = 256;

// `sums`, one element a block, may be null.
__global__ void scan_blocks(unsigned* data, unsigned* sums, unsigned n) {
  __shared__ unsigned buffer[2][kBlock];  // read one, write the other: one barrier a step is enough
  unsigned t = threadIdx.x;
  unsigned i = blockIdx.x * kBlock + t;
  int from = 0;
  buffer[from][t] = i < n ? data[i] : 0;
  __syncthreads();
  for (unsigned distance = 1; distance < kBlock; distance *= 2) {
    unsigned value = buffer[from][t];
    if (t >= distance) value += buffer[from][t - distance];
    buffer[1 - from][t] = value;
    from = 1 - from;
    __syncthreads();
  }
  if (i < n) data[i] = buffer[from][t];
  if (sums != nullptr && t == kBlock - 1) sums[blockIdx.x] = buffer[from][t];
}

__global__ void add_sums(unsigned* data, const unsigned* sums, unsigned n) {
  unsigned i = blockIdx.x * kBlock + threadIdx.x;
  if (i < n && blockIdx.x > 0) data[i] += sums[blockIdx.x - 1];
}

int main() {
  Test test("block_scan");
  const unsigned n = 50000;
  const unsigned blocks = blocks_for(n, kBlock);
  std::vector<unsigned> data = Random(1).values(n, 1u, 1000000u);
  std::vector<unsigned> want(n);
  unsigned running = 0;  // wraps around, as the device's sums do
  for (unsigned i = 0; i < n; ++i) want[i] = running += data[i];

  unsigned* device_data = to_device(data);
  unsigned* device_sums = device_array<unsigned>(blocks);
  static_assert(n <= kBlock * kBlock, "one block scans all sums");
  scan_blocks<<<blocks, kBlock>>>(device_data, device_sums, n);
  check(hipGetLastError());
  scan_blocks<<<1, kBlock>>>(device_sums, nullptr, blocks);
  check(hipGetLastError());
  add_sums<<<blocks, kBlock>>>(device_data, device_sums, n);
  check(hipGetLastError());

  test.equal("data", to_host(device_data, n), want);
  check(hipFree(device_data));
  check(hipFree(device_sums));
  return test.finish();
}
