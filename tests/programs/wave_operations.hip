// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shuffles and votes within a wave, used so that the result does not depend on how wide a wave is: a block's sum, a
// count by ballot, prefix sums in groups of 16 lanes, and shuffles in a branch that some lanes do not take.

#include "check.h"

constexpr int kBlock = 192, kGroup = 16;

__global__ void wave_operations(const int* in, int* block_sums, unsigned* odd_count, int* prefix, int* swapped) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  int t = threadIdx.x;
  int i = blockIdx.x * kBlock + t;
  int value = in[i];

  int wave_sum = value;
  for (int distance = warpSize / 2; distance > 0; distance /= 2) wave_sum += __shfl_xor(wave_sum, distance);
  if (t % warpSize == 0) atomicAdd(&sum, wave_sum);

  unsigned long long odd = __ballot(value & 1);
  if (t % warpSize == 0) atomicAdd(odd_count, static_cast<unsigned>(__popcll(odd)));

  int running = value;
  for (int distance = 1; distance < kGroup; distance *= 2) {
    int other = __shfl_up(running, distance, kGroup);
    if (t % kGroup >= distance) running += other;
  }
  prefix[i] = running;

  // Every other pair of lanes exchanges its values.
  int mine = value;
  if (t & 2) mine = __shfl(value, (t ^ 1) % kGroup, kGroup);
  // All lanes of the wave take part in these votes again.
  if (__all(value > 0) && !__any(value > 1000)) mine += 5;
  swapped[i] = mine;

  __syncthreads();
  if (t == 0) block_sums[blockIdx.x] = sum;
}

int main() {
  Test test("wave_operations");
  const int blocks = 100, n = blocks * kBlock;
  std::vector<int> in = Random(1).values(n, 1, 1000);
  std::vector<int> sums(blocks), prefix(n), swapped(n);
  unsigned odd_count = 77;
  for (int i = 0; i < n; ++i) {
    sums[i / kBlock] += in[i];
    odd_count += in[i] & 1;
    prefix[i] = in[i] + (i % kGroup > 0 ? prefix[i - 1] : 0);
    swapped[i] = 5 + (i & 2 ? in[i ^ 1] : in[i]);
  }

  int* device_in = to_device(in);
  int* device_sums = device_array<int>(blocks);
  unsigned* device_odd_count = to_device(std::vector<unsigned>{77});
  int* device_prefix = device_array<int>(n);
  int* device_swapped = device_array<int>(n);
  wave_operations<<<blocks, kBlock>>>(device_in, device_sums, device_odd_count, device_prefix, device_swapped);
  check(hipGetLastError());

  test.equal("block sum", to_host(device_sums, blocks), sums);
  test.equal("odd count", to_host(device_odd_count, 1), std::vector<unsigned>{odd_count});
  test.equal("prefix", to_host(device_prefix, n), prefix);
  test.equal("swapped", to_host(device_swapped, n), swapped);
  for (int* memory : {device_in, device_sums, device_prefix, device_swapped}) check(hipFree(memory));
  check(hipFree(device_odd_count));
  return test.finish();
}
