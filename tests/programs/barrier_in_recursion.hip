// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that meet inside of a function that calls itself: the whole block at barriers, and the lanes of a wave, some
// of which go deeper than others, at ballots.

#include "check.h"

constexpr int kBlock = 128;

// The sum of tile[0, count), left in tile[0].
__device__ __noinline__ void reduce(unsigned* tile, int count) {
  if (count == 1) return;
  int half = count / 2;
  if (static_cast<int>(threadIdx.x) < half) tile[threadIdx.x] += tile[threadIdx.x + half];
  __syncthreads();
  reduce(tile, half);
}

__global__ void sum_blocks(const unsigned* data, unsigned* sums) {
  __shared__ unsigned tile[kBlock];
  tile[threadIdx.x] = data[blockIdx.x * kBlock + threadIdx.x];
  __syncthreads();
  reduce(tile, kBlock);
  if (threadIdx.x == 0) sums[blockIdx.x] = tile[0];
}

// How many lanes of the wave come back together from each depth: those that went at least as deep.
__device__ __noinline__ void descend(int depth, int left, int* company) {
  if (left > 0) descend(depth + 1, left - 1, company);
  company[depth] = __popcll(__ballot(1));
}

constexpr int kDeepest = 6;

__global__ void count_company(const int* depths, int* company) {
  int i = blockIdx.x * kBlock + threadIdx.x;
  int mine[kDeepest + 1] = {};
  descend(0, depths[i], mine);
  for (int depth = 0; depth <= kDeepest; ++depth) company[i * (kDeepest + 1) + depth] = mine[depth];
}

// Two functions that call each other, one of which meets the block: each thread ends up with the value that is
// `rounds` threads further on.
__device__ void turn(int* ring, int rounds);

__device__ __noinline__ void step(int* ring, int rounds) {
  int next = ring[(threadIdx.x + 1) % kBlock];
  __syncthreads();
  ring[threadIdx.x] = next;
  turn(ring, rounds - 1);
}

__device__ __noinline__ void turn(int* ring, int rounds) {
  __syncthreads();
  if (rounds > 0) step(ring, rounds);
}

__global__ void rotate(int* data, int rounds) {
  __shared__ int ring[kBlock];
  ring[threadIdx.x] = data[blockIdx.x * kBlock + threadIdx.x];
  turn(ring, rounds + blockIdx.x);
  data[blockIdx.x * kBlock + threadIdx.x] = ring[threadIdx.x];
}

int main() {
  Test test("barrier_in_recursion");
#ifdef __CUDA__  // by itself it has a kibibyte a thread for that
  check(cudaDeviceSetLimit(cudaLimitStackSize, 16 * 1024));
#endif
  const int blocks = 12, count = blocks * kBlock;
  hipDeviceProp_t properties;
  check(hipGetDeviceProperties(&properties, 0));
  int wave = properties.warpSize;
  Random random(1);

  std::vector<unsigned> data = random.values(count, 0u, 1000000u), sums(blocks);
  for (int i = 0; i < count; ++i) sums[i / kBlock] += data[i];
  unsigned* device_data = to_device(data);
  unsigned* device_sums = device_array<unsigned>(blocks);
  sum_blocks<<<blocks, kBlock>>>(device_data, device_sums);
  check(hipGetLastError());
  test.equal("sums", to_host(device_sums, blocks), sums);

  std::vector<int> depths = random.values(count, 0, kDeepest), company(count * (kDeepest + 1));
  for (int i = 0; i < count; ++i) {
    for (int depth = 0; depth <= depths[i]; ++depth) {
      for (int lane = i / wave * wave; lane < (i / wave + 1) * wave; ++lane) {
        company[i * (kDeepest + 1) + depth] += depths[lane] >= depth;
      }
    }
  }
  int* device_depths = to_device(depths);
  int* device_company = device_array<int>(company.size());
  count_company<<<blocks, kBlock>>>(device_depths, device_company);
  check(hipGetLastError());
#ifndef __CUDA__  // there lanes that have parted need not come together again
  test.equal("company", to_host(device_company, company.size()), company);
#endif

  std::vector<int> turned(count);
  const int rounds = 5;
  for (int i = 0; i < count; ++i) {
    int block = i / kBlock;
    turned[i] = depths[block * kBlock + (i % kBlock + rounds + block) % kBlock];
  }
  rotate<<<blocks, kBlock>>>(device_depths, rounds);
  check(hipGetLastError());
  test.equal("ring", to_host(device_depths, count), turned);

  check(hipFree(device_data));
  check(hipFree(device_sums));
  check(hipFree(device_depths));
  check(hipFree(device_company));
  return test.finish();
}
