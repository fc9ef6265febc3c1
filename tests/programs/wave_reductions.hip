// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums, prefix sums and compaction as libraries write them: shuffles within each wave, shared memory between waves, the
// first wave finishing alone; threads beyond the data return at once, or stay for the barriers.

#include "check.h"

constexpr int kBlock = 256;

__device__ int wave_sum(int value) {
  for (int distance = warpSize / 2; distance > 0; distance /= 2) value += __shfl_down(value, distance);
  return value;
}

__global__ void block_sums(const int* in, int* sums, int n) {
  __shared__ int parts[kBlock / 32];
  int i = blockIdx.x * kBlock + threadIdx.x;
  int lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize;
  int value = wave_sum(i < n ? in[i] : 0);
  if (lane == 0) parts[wave] = value;
  __syncthreads();
  value = threadIdx.x < kBlock / warpSize ? parts[lane] : 0;
  if (wave == 0) value = wave_sum(value);
  if (threadIdx.x == 0) sums[blockIdx.x] = value;
}

// Inclusive, within each block.
__global__ void prefix_sums(const int* in, int* out, int n) {
  __shared__ int parts[kBlock / 32];
  int i = blockIdx.x * kBlock + threadIdx.x;
  int lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize;
  int value = i < n ? in[i] : 0;
  for (int distance = 1; distance < warpSize; distance *= 2) {
    int other = __shfl_up(value, distance);
    if (lane >= distance) value += other;
  }
  if (lane == warpSize - 1) parts[wave] = value;
  __syncthreads();
  if (wave == 0) {
    int part = lane < kBlock / warpSize ? parts[lane] : 0;
    for (int distance = 1; distance < kBlock / warpSize; distance *= 2) {
      int other = __shfl_up(part, distance, kBlock / warpSize);
      if (lane % (kBlock / warpSize) >= distance) part += other;
    }
    if (lane < kBlock / warpSize) parts[lane] = part;
  }
  __syncthreads();
  if (wave > 0) value += parts[wave - 1];
  if (i < n) out[i] = value;
}

// What is odd, in order, each wave's where the waves before it end; those beyond the data have left.
__global__ void keep_odd(const int* in, const int* starts, int* out, int n) {
  int i = blockIdx.x * kBlock + threadIdx.x;
  if (i >= n) return;
  bool odd = in[i] & 1;
  unsigned long long all = __ballot(odd);
  int before = __popcll(all & ((1ull << (i % warpSize)) - 1));
  int start = __shfl(i % warpSize == 0 ? starts[i / 32] : 0, 0);
  if (odd) out[start + before] = in[i];
}

// Grid-stride, each wave with one addition to the total; the last round is not everybody's.
__global__ void total(const int* in, int* sum, int n) {
  int mine = 0;
  for (int i = blockIdx.x * kBlock + threadIdx.x; i < n; i += gridDim.x * kBlock) {
    mine += in[i] * __popcll(__ballot(1)) / __popcll(__ballot(1));
  }
  mine = wave_sum(mine);
  if (threadIdx.x % warpSize == 0) atomicAdd(sum, mine);
}

int main() {
  Test test("wave_reductions");
  const int n = 10000, blocks = static_cast<int>(blocks_for(n, kBlock));
  std::vector<int> in = Random(5).values(n, 0, 1000);
  std::vector<int> sums(blocks), prefix(n), odd, starts(blocks_for(n, 32) + 2);
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    if (i % 32 == 0) starts[i / 32] = static_cast<int>(odd.size());
    sums[i / kBlock] += in[i];
    prefix[i] = in[i] + (i % kBlock ? prefix[i - 1] : 0);
    if (in[i] & 1) odd.push_back(in[i]);
    sum += in[i];
  }
  int* device_in = to_device(in);
  int* device_sums = device_array<int>(blocks);
  int* device_prefix = device_array<int>(n);
  int* device_starts = to_device(starts);
  int* device_odd = to_device(std::vector<int>(n));
  int* device_sum = to_device(std::vector<int>{0});
  block_sums<<<blocks, kBlock>>>(device_in, device_sums, n);
  prefix_sums<<<blocks, kBlock>>>(device_in, device_prefix, n);
  keep_odd<<<blocks, kBlock>>>(device_in, device_starts, device_odd, n);
  total<<<7, kBlock>>>(device_in, device_sum, n);
  check(hipGetLastError());
  test.equal("sums", to_host(device_sums, blocks), sums);
  test.equal("prefix", to_host(device_prefix, n), prefix);
  test.equal("odd", to_host(device_odd, odd.size()), odd);
  test.equal("total", to_host(device_sum, 1)[0], sum);
  for (int* memory : {device_in, device_sums, device_prefix, device_starts, device_odd, device_sum}) {
    check(hipFree(memory));
  }
  return test.finish();
}
