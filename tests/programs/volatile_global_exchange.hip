// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lanes of a wave that exchange values through global memory, with no barrier: by volatile accesses, and by plain ones
// with fences. These kernels have no shared memory.
#include "check.h"

constexpr unsigned kThreads = 128, kBlocks = 3, kWave = 32;

// Each lane has the sum of its wave at last.
__global__ void sum_volatile(const int* in, int* out, volatile int* scratch) {
  unsigned t = blockIdx.x * kThreads + threadIdx.x;
  int v = in[t];
  for (unsigned o = 1; o < kWave; o *= 2) {
    scratch[t] = v;
    v += scratch[t ^ o];
  }
  out[t] = v;
}

__global__ void sum_fenced(const int* in, int* out, int* scratch) {
  unsigned t = blockIdx.x * kThreads + threadIdx.x;
  int v = in[t];
  for (unsigned o = 1; o < kWave; o *= 2) {
    scratch[t] = v;
    __threadfence_block();
    v += scratch[t ^ o];
    __threadfence_block();
  }
  out[t] = v;
}

// Prefix sums in place; lanes below have their say no more.
__global__ void scan_volatile(const int* in, int* out, volatile int* scratch) {
  unsigned t = blockIdx.x * kThreads + threadIdx.x, lane = t % kWave;
  scratch[t] = in[t];
  for (unsigned o = 1; o < kWave; o *= 2) {
    if (lane >= o) scratch[t] = scratch[t] + scratch[t - o];
  }
  out[t] = scratch[t];
}

// A lane takes its partner's value as long as its own, which it reads back, is odd. Lanes leave the loop by turns, and
// partners together.
__global__ void take_while_odd(const int* in, int* out, volatile int* scratch) {
  unsigned t = blockIdx.x * kThreads + threadIdx.x, rounds = t % 4 + 1;
  int v = in[t];
  for (unsigned round = 0; round < rounds; ++round) {
    scratch[t] = v;
    if (scratch[t] & 1) v += 3 * scratch[t ^ 4];
  }
  out[t] = v;
}

// A lane adds its neighbour's value until its own is odd, five times at most.
__global__ void add_until_odd(const int* in, int* out, volatile int* scratch) {
  unsigned t = blockIdx.x * kThreads + threadIdx.x, neighbour = t / kWave * kWave + (t + 5) % kWave;
  int v = 2 * in[t];
  for (unsigned round = 0; round < 5; ++round) {
    scratch[t] = v;
    v += scratch[neighbour] / 2;
    if (v & 1) break;
  }
  out[t] = v;
}

// All lanes of a block wait for the block before it, then exchange values.
__global__ void sum_in_turn(const int* in, int* out, volatile int* scratch, volatile unsigned* turn) {
  unsigned t = blockIdx.x * kThreads + threadIdx.x;
  while (*turn < blockIdx.x) {
  }
  int v = in[t];
  for (unsigned o = 1; o < kWave; o *= 2) {
    scratch[t] = v;
    v += scratch[t ^ o];
  }
  out[t] = v;
  __syncthreads();
  if (threadIdx.x == 0) *turn = blockIdx.x + 1;
}

// One lane stores, all read, those of the other side of the branch later.
__global__ void tell_fenced(const int* in, int* out, int* scratch) {
  unsigned t = blockIdx.x * kThreads + threadIdx.x, lane = t % kWave, wave = t / kWave;
  int sum = 0;
  for (unsigned teller = 3; teller < kWave; teller += 7) {
    if (lane == teller) scratch[wave] = in[t];
    __threadfence_block();
    sum = 5 * sum + scratch[wave];
    __threadfence_block();
  }
  out[t] = sum;
}

int main() {
  Test test("volatile_global_exchange");
  constexpr unsigned kCount = kThreads * kBlocks;
  std::vector<int> in = Random(4).values(kCount, -1000, 1000), sums(kCount), scans(kCount), told(kCount), taken(in);
  for (unsigned i = 0; i < kCount; ++i) {
    unsigned first = i / kWave * kWave;
    for (unsigned lane = 0; lane < kWave; ++lane) sums[i] += in[first + lane];
    scans[i] = in[i] + (i > first ? scans[i - 1] : 0);
    for (unsigned teller = 3; teller < kWave; teller += 7) told[i] = 5 * told[i] + in[first + teller];
  }
  for (unsigned round = 0; round < 4; ++round) {
    std::vector<int> before = taken;
    for (unsigned i = 0; i < kCount; ++i) {
      if (round <= i % 4 && (before[i] & 1)) taken[i] += 3 * before[i ^ 4];
    }
  }
  std::vector<int> added(kCount), left_there(kCount), going(kCount, 1);
  for (unsigned i = 0; i < kCount; ++i) added[i] = 2 * in[i];
  for (unsigned round = 0; round < 5; ++round) {
    for (unsigned i = 0; i < kCount; ++i) {
      if (going[i]) left_there[i] = added[i];
    }
    for (unsigned i = 0; i < kCount; ++i) {
      if (going[i]) added[i] += left_there[i / kWave * kWave + (i + 5) % kWave] / 2;
      if (added[i] & 1) going[i] = 0;
    }
  }
  int *device_in = to_device(in), *device_out = device_array<int>(kCount),
      *scratch = to_device(std::vector<int>(kCount));
  sum_volatile<<<kBlocks, kThreads>>>(device_in, device_out, scratch);
  test.equal("sum, volatile", to_host(device_out, kCount), sums);
  sum_fenced<<<kBlocks, kThreads>>>(device_in, device_out, scratch);
  test.equal("sum, with fences", to_host(device_out, kCount), sums);
  scan_volatile<<<kBlocks, kThreads>>>(device_in, device_out, scratch);
  test.equal("scan, volatile", to_host(device_out, kCount), scans);
  tell_fenced<<<kBlocks, kThreads>>>(device_in, device_out, scratch);
  test.equal("tell, with fences", to_host(device_out, kCount), told);
  take_while_odd<<<kBlocks, kThreads>>>(device_in, device_out, scratch);
  test.equal("take while odd", to_host(device_out, kCount), taken);
  add_until_odd<<<kBlocks, kThreads>>>(device_in, device_out, scratch);
  test.equal("add until odd", to_host(device_out, kCount), added);
  unsigned* turn = to_device(std::vector<unsigned>(1));
  sum_in_turn<<<kBlocks, kThreads>>>(device_in, device_out, scratch, turn);
  test.equal("sum, in turn", to_host(device_out, kCount), sums);
  check(hipFree(turn));
  for (int* memory : {device_in, device_out, scratch}) check(hipFree(memory));
  return test.finish();
}
