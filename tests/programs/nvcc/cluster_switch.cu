// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cooperative groups of any kind, told apart at run time by a switch that has clusters among its cases; and clusters
// that a launch does not ask for, which are of one block.
#include <cooperative_groups.h>

#include <utility>

#include "../check.h"

namespace cg = cooperative_groups;

constexpr unsigned kBlock = 128, kBlocks = 32;

__device__ __noinline__ int sum_of(const cg::thread_group& group, int* room, int value) {
  const unsigned rank = static_cast<unsigned>(group.thread_rank());
  for (unsigned i = static_cast<unsigned>(group.size()) / 2; i > 0; i /= 2) {
    room[rank] = value;
    group.sync();
    if (rank < i) value += room[rank + i];
    group.sync();
  }
  return rank == 0 ? value : 0;
}

__global__ void sums(const int* in, int* whole, int* parts, unsigned tile) {
  __shared__ int room[kBlock];
  const auto block = cg::this_thread_block();
  const unsigned at = threadIdx.x / tile;
  const int value = in[blockIdx.x * kBlock + threadIdx.x], sum = sum_of(block, room, value);
  if (threadIdx.x == 0) whole[blockIdx.x] = sum;
  const int part = sum_of(cg::tiled_partition(block, tile), room + at * tile, value);
  if (threadIdx.x % tile == 0) parts[blockIdx.x * (kBlock / tile) + at] = part;
}

__global__ void clusters(const int* in, int* out) {
  __shared__ int mine[kBlock];
  const auto cluster = cg::this_cluster();
  const unsigned i = blockIdx.x * kBlock + threadIdx.x;
  mine[threadIdx.x] = in[i];
  cluster.sync();
  const int* theirs = cluster.map_shared_rank(mine, (cluster.block_rank() + 1) % cluster.num_blocks());
  const int read = theirs[kBlock - 1 - threadIdx.x];
  auto token = cluster.barrier_arrive();
  out[i] = read + static_cast<int>(cluster.query_shared_rank(theirs) + 1000 * cluster.num_threads());
  cluster.barrier_wait(std::move(token));
  atomicAdd(cluster.map_shared_rank(mine, 0), 1);
  cluster.sync();
  if (threadIdx.x == 0) out[i] += mine[0];
}

int main() {
  constexpr unsigned kCount = kBlock * kBlocks, kTile = 8;
  std::vector<int> in(kCount);
  for (unsigned i = 0; i < kCount; ++i) in[i] = static_cast<int>(i * 37 % 101) - 50;
  int *device = to_device(in), *whole = device_array<int>(kBlocks), *parts = device_array<int>(kCount / kTile),
      *out = device_array<int>(kCount);
  sums<<<kBlocks, kBlock>>>(device, whole, parts, kTile);
  clusters<<<kBlocks, kBlock>>>(device, out);
  check(hipGetLastError());
  const auto wholes = to_host(whole, kBlocks), all_parts = to_host(parts, kCount / kTile), got = to_host(out, kCount);
  bool good = true;
  for (unsigned i = 0; i < kCount; ++i) {
    const unsigned block = i / kBlock, thread = i % kBlock;
    int sum = 0, part = 0;
    for (unsigned k = 0; k < kBlock; ++k) sum += in[block * kBlock + k];
    for (unsigned k = 0; k < kTile; ++k) part += in[i / kTile * kTile + k];
    const int want = in[block * kBlock + kBlock - 1 - thread] + 1000 * static_cast<int>(kBlock);
    good &= wholes[block] == sum && all_parts[i / kTile] == part;
    good &= got[i] == want + (thread == 0 ? in[block * kBlock] + static_cast<int>(kBlock) : 0);
  }
  std::printf("cluster_switch: %s\n", good ? "ok" : "FAILED: a sum, or what another thread left, is another");
  return good ? 0 : 1;
}
