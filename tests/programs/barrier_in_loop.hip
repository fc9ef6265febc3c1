// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers where a compiler finds them hard: in a loop whose trip count comes from an argument, in nested loops, in a
// branch that all threads of a block take, and in one that depends on the block.

#include "check.h"

constexpr int kBlock = 96;  // no power of two

__global__ void mix(unsigned* data, int rounds, bool mirror) {
  __shared__ unsigned tile[kBlock];
  int t = threadIdx.x;
  unsigned* mine = data + blockIdx.x * kBlock;
  tile[t] = mine[t];
  __syncthreads();

  for (int round = 0; round < rounds; ++round)
    for (int distance = 1; distance <= 4; distance *= 2) {
      unsigned other = tile[(t + distance) % kBlock];
      __syncthreads();
      tile[t] = tile[t] * 3 + other + round;
      __syncthreads();
    }

  if (mirror) {
    unsigned other = tile[kBlock - 1 - t];
    __syncthreads();
    tile[t] ^= other >> 1;
    __syncthreads();
  }
  if (blockIdx.x % 3 == 0) {
    if (t == 0) tile[0] += 1000;
    __syncthreads();
    mine[t] = tile[t] + tile[0];
  } else {
    mine[t] = tile[t];
  }
}

static void reference(unsigned* mine, int block, int rounds, bool mirror) {
  std::vector<unsigned> tile(mine, mine + kBlock), before;
  for (int round = 0; round < rounds; ++round)
    for (int distance : {1, 2, 4}) {
      before = tile;
      for (int t = 0; t < kBlock; ++t) tile[t] = before[t] * 3 + before[(t + distance) % kBlock] + round;
    }
  before = tile;
  for (int t = 0; mirror && t < kBlock; ++t) tile[t] ^= before[kBlock - 1 - t] >> 1;
  if (block % 3 == 0) tile[0] += 1000;
  unsigned extra = block % 3 == 0 ? tile[0] : 0;
  for (int t = 0; t < kBlock; ++t) mine[t] = tile[t] + extra;
}

int main() {
  Test test("barrier_in_loop");
  const int blocks = 100;
  std::vector<unsigned> want = Random(1).values(blocks * kBlock, 1u, 1000000u);
  unsigned* data = to_device(want);
  for (int rounds : {0, 1, 7})
    for (bool mirror : {false, true}) {
      mix<<<blocks, kBlock>>>(data, rounds, mirror);
      check(hipGetLastError());
      for (int block = 0; block < blocks; ++block) reference(&want[block * kBlock], block, rounds, mirror);
      test.equal("data", to_host(data, want.size()), want);
    }
  check(hipFree(data));
  return test.finish();
}
