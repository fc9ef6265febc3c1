// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cooperative groups within a block: the block itself, tiles of it of fixed and of run-time size, and the threads that
// happen to be together in a branch.

#include "check.h"

#include <hip/hip_cooperative_groups.h>  // needs what hip_runtime.h defines

namespace cg = cooperative_groups;

constexpr int kBlock = 128;

template <unsigned size>
__device__ int tile_sum(cg::thread_block_tile<size> tile, int value) {
  for (unsigned distance = size / 2; distance > 0; distance /= 2) value += tile.shfl_down(value, distance);
  return tile.shfl(value, 0);
}

template <unsigned size>
__global__ void sum_tiles(const int* data, int* sums, int* ranks) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<size> tile = cg::tiled_partition<size>(block);
  int i = block.group_index().x * block.size() + block.thread_rank();
  // Whole tiles stay away.
  if (i / size % 3 == 1) {
    sums[i] = ranks[i] = -1;
    return;
  }
  sums[i] = tile_sum<size>(tile, data[i]);
  ranks[i] = tile.thread_rank() * 1000 + tile.size();
}

__global__ void exchange(const int* data, int* out) {
  cg::thread_block_tile<16> tile = cg::tiled_partition<16>(cg::this_thread_block());
  int i = blockIdx.x * kBlock + threadIdx.x;
  int value = data[i];
  int up = tile.shfl_up(value, 3);
  int across = tile.shfl_xor(value, 5);
  int from = tile.shfl(value, (tile.thread_rank() * 7 + 2) % 16);
  tile.sync();
  out[i] = up + 3 * across + 5 * from;
}

// Through shared memory, with groups passed to a function that takes any of them.
__device__ int group_sum(const cg::thread_group& group, int* room, int value) {
  unsigned rank = group.thread_rank();
  for (unsigned half = group.size() / 2; half > 0; half /= 2) {
    room[rank] = value;
    group.sync();
    if (rank < half) value += room[rank + half];
    group.sync();
  }
  return value;  // rank 0's is the sum
}

__global__ void sum_groups(const int* data, int* sums, int* tile_sums) {
  __shared__ int room[kBlock];
  cg::thread_block block = cg::this_thread_block();
  int value = data[blockIdx.x * kBlock + threadIdx.x];
  int sum = group_sum(block, room, value);
  if (block.thread_rank() == 0) sums[blockIdx.x] = sum;
  block.sync();
  cg::thread_group tile = cg::tiled_partition(block, 8);
  sum = group_sum(tile, room + threadIdx.x / 8 * 8, value);
  if (tile.thread_rank() == 0) tile_sums[(blockIdx.x * kBlock + threadIdx.x) / 8] = sum;
}

// Threads of a wave that take a branch together append together: one atomic for all of them. First the multiples of
// three, then of two.
__global__ void append(const int* data, int* kept, unsigned* counts, int* group_sizes) {
  int i = blockIdx.x * kBlock + threadIdx.x;
  int wave = i / warpSize;
  for (int factor = 3; factor > 1; --factor) {
    if (data[i] % factor != 0) continue;
    cg::coalesced_group active = cg::coalesced_threads();
    unsigned first = 0;
    if (active.thread_rank() == 0) first = atomicAdd(&counts[wave], active.size());
    first = active.shfl(first, 0);
    kept[2 * wave * warpSize + first + active.thread_rank()] = data[i];
    group_sizes[i] += active.size();
  }
}

template <unsigned size>
void check_tiles(Test& test, const int* device_data, const std::vector<int>& data) {
  int count = static_cast<int>(data.size());
  std::vector<int> sums(count, -1), ranks(count, -1);
  for (int i = 0; i < count; ++i) {
    if (i / size % 3 == 1) continue;
    int first = static_cast<int>(i / size * size);
    sums[i] = 0;
    for (int k = first; k < first + static_cast<int>(size); ++k) sums[i] += data[k];
    ranks[i] = static_cast<int>(i % size * 1000 + size);
  }
  int* device_sums = device_array<int>(count);
  int* device_ranks = device_array<int>(count);
  sum_tiles<size><<<count / kBlock, kBlock>>>(device_data, device_sums, device_ranks);
  check(hipGetLastError());
  test.equal("tiles", to_host(device_sums, count), sums);
  test.equal("ranks", to_host(device_ranks, count), ranks);
  check(hipFree(device_sums));
  check(hipFree(device_ranks));
}

int main() {
  Test test("cooperative_groups");
  const int blocks = 6, count = blocks * kBlock;
  hipDeviceProp_t properties;
  check(hipGetDeviceProperties(&properties, 0));
  int wave = properties.warpSize;
  std::vector<int> data = Random(1).values(count, 0, 100000);
  int* device_data = to_device(data);
  check_tiles<4>(test, device_data, data);
  check_tiles<16>(test, device_data, data);
  check_tiles<32>(test, device_data, data);

  std::vector<int> exchanged(count), sums(blocks), tile_sums(count / 8);
  for (int i = 0; i < count; ++i) {
    int lane = i % 16, first = i - lane;
    exchanged[i] = data[lane < 3 ? i : i - 3] + 3 * data[first + (lane ^ 5)] + 5 * data[first + (lane * 7 + 2) % 16];
    sums[i / kBlock] += data[i];
    tile_sums[i / 8] += data[i];
  }
  int* device_out = device_array<int>(count);
  int* device_sums = device_array<int>(blocks);
  exchange<<<blocks, kBlock>>>(device_data, device_out);
  check(hipGetLastError());
  test.equal("exchanged", to_host(device_out, count), exchanged);
  sum_groups<<<blocks, kBlock>>>(device_data, device_sums, device_out);
  check(hipGetLastError());
  test.equal("sums", to_host(device_sums, blocks), sums);
  test.equal("sums of tiles", to_host(device_out, count / 8), tile_sums);

  const int waves = count / wave;
  std::vector<int> kept(2 * count), sizes(count);
  std::vector<unsigned> counts(waves);
  for (int factor = 3; factor > 1; --factor) {
    std::vector<int> together(waves);
    for (int i = 0; i < count; ++i) {
      if (data[i] % factor != 0) continue;
      kept[2 * (i / wave) * wave + counts[i / wave]++] = data[i];
      ++together[i / wave];
    }
    for (int i = 0; i < count; ++i) sizes[i] += data[i] % factor == 0 ? together[i / wave] : 0;
  }
  unsigned* device_counts = to_device(std::vector<unsigned>(waves));
  int* device_kept = to_device(std::vector<int>(2 * count));
  int* device_sizes = to_device(std::vector<int>(count));
  append<<<blocks, kBlock>>>(device_data, device_kept, device_counts, device_sizes);
  check(hipGetLastError());
  test.equal("counts", to_host(device_counts, waves), counts);
  test.equal("kept", to_host(device_kept, 2 * count), kept);
  test.equal("sizes of groups", to_host(device_sizes, count), sizes);

  check(hipFree(device_data));
  check(hipFree(device_out));
  check(hipFree(device_sums));
  check(hipFree(device_counts));
  check(hipFree(device_sizes));
  check(hipFree(device_kept));
  return test.finish();
}
