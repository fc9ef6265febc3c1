// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that spin until others of their block, or of their wave, are done: locks in global and shared memory taken by
// compare-and-swap and by exchange, tickets, flags that waves pass on. What the locks guard is changed without atomics.

#include <algorithm>

#include "check.h"

constexpr unsigned kBlock = 192, kBlocks = 12, kBins = 5, kN = kBlock * kBlocks;

__device__ bool leads() { return threadIdx.x % warpSize == 0; }

// Every thread for itself: whoever has the lock does its work within the loop, so that the lanes that have not go on.
__global__ void lock_by_all(const unsigned* in, unsigned* locks, unsigned* sums, unsigned* most) {
  unsigned i = blockIdx.x * kBlock + threadIdx.x;
  unsigned v = in[i], bin = v % kBins;
  bool done = false;
  while (!done) {
    if (atomicCAS(&locks[bin], 0u, 1u) == 0) {
      __threadfence();
      volatile unsigned *sum = &sums[bin], *largest = &most[bin];
      *sum = *sum + v;
      if (v > *largest) *largest = v;
      __threadfence();
      atomicExch(&locks[bin], 0u);
      done = true;
    }
  }
}

// The same in shared memory, which all of a block wait for.
__global__ void lock_in_block(const unsigned* in, unsigned* sums) {
  __shared__ unsigned lock[kBins];
  __shared__ volatile unsigned sum[kBins];
  if (threadIdx.x < kBins) lock[threadIdx.x] = sum[threadIdx.x] = 0;
  __syncthreads();
  unsigned v = in[blockIdx.x * kBlock + threadIdx.x], bin = v % kBins;
  for (bool done = false; !done;) {
    if (atomicExch(&lock[bin], 1u) == 0) {
      sum[bin] = sum[bin] + v;
      __threadfence_block();
      atomicExch(&lock[bin], 0u);
      done = true;
    }
  }
  __syncthreads();
  if (threadIdx.x < kBins) sums[blockIdx.x * kBins + threadIdx.x] = sum[threadIdx.x];
}

// One thread a wave spins and then does its work; the others wait for it where the wave votes.
__global__ void lock_by_leaders(unsigned* lock, unsigned* turn, unsigned* sums, unsigned* votes) {
  unsigned i = blockIdx.x * kBlock + threadIdx.x;
  if (leads()) {
    while (atomicCAS(lock, 0u, 1u) != 0) {
    }
    __threadfence();
    volatile unsigned* sum = &sums[0];
    *sum = *sum + i / warpSize + 1;
    __threadfence();
    atomicExch(lock, 0u);

    unsigned ticket = atomicAdd(&turn[0], 1u);
    while (atomicAdd(&turn[1], 0u) != ticket) {
    }
    __threadfence();
    volatile unsigned* other = &sums[1];
    *other = *other * 2 % 65521 + 1;  // the same whoever comes when
    __threadfence();
    atomicAdd(&turn[1], 1u);
  }
#ifdef __CUDA__
  __syncwarp();  // there lanes that have parted need not come together by themselves
#endif
  unsigned here = __popcll(__ballot(1));
  votes[i] = here == warpSize ? 1 : here;
}

// A flag goes from the last wave to the first, which is there before, and then back. The lanes that do not wait meet
// those that do at a barrier.
__global__ void pass_on(unsigned* out) {
  __shared__ volatile unsigned down[33], up[33];
  unsigned wave = threadIdx.x / warpSize, waves = (kBlock + warpSize - 1) / warpSize;
  if (threadIdx.x < 33) down[threadIdx.x] = up[threadIdx.x] = 0;
  __syncthreads();
  if (leads()) {
    if (wave + 1 < waves) {
      while (down[wave + 1] == 0) {
      }
    }
    down[wave] = down[wave + 1] + 1;
    unsigned before = 1;
    if (wave > 0) {
      do {
        before = up[wave - 1];
      } while (before == 0);
    }
    up[wave] = before + 1;
  }
  __syncthreads();
  out[blockIdx.x * kBlock + threadIdx.x] = down[0] == waves && up[waves - 1] == waves + 1;
}

// Loops that look like waits and are none: they get on by themselves.
__global__ void no_waits(const unsigned* in, float* largest, unsigned* next, unsigned* seen) {
  unsigned i = blockIdx.x * kBlock + threadIdx.x;
  float value = static_cast<float>(in[i]);
  auto* bits = reinterpret_cast<unsigned*>(largest);
  unsigned old = *bits, assumed;
  do {
    assumed = old;
    if (__uint_as_float(assumed) >= value) break;
    old = atomicCAS(bits, assumed, __float_as_uint(value));
  } while (old != assumed);
  // Work that is handed out.
  for (unsigned item; (item = atomicAdd(next, 1u)) < kN;) atomicAdd(&seen[item], in[item]);
}

int main() {
  Test test("spin_locks");
  std::vector<unsigned> in(kN);
  Random random(7);
  for (unsigned& v : in) v = random.below(700);
  unsigned* device_in = to_device(in);
  auto zeros = [](std::size_t count) { return to_device(std::vector<unsigned>(count)); };

  std::vector<unsigned> sums(kBins), most(kBins), of_block(kBlocks * kBins);
  for (unsigned i = 0; i < kN; ++i) {
    unsigned bin = in[i] % kBins;
    sums[bin] += in[i];
    most[bin] = std::max(most[bin], in[i]);
    of_block[i / kBlock * kBins + bin] += in[i];
  }
  unsigned *locks = zeros(kBins), *device_sums = zeros(kBins), *device_most = zeros(kBins);
  lock_by_all<<<kBlocks, kBlock>>>(device_in, locks, device_sums, device_most);
  check(hipGetLastError());
  test.equal("sum under a lock", to_host(device_sums, kBins), sums);
  test.equal("maximum under a lock", to_host(device_most, kBins), most);
  test.equal("lock", to_host(locks, kBins), std::vector<unsigned>(kBins));

  unsigned* device_of_block = zeros(of_block.size());
  lock_in_block<<<kBlocks, kBlock>>>(device_in, device_of_block);
  check(hipGetLastError());
  test.equal("sum under a block's lock", to_host(device_of_block, of_block.size()), of_block);

  hipDeviceProp_t properties;
  check(hipGetDeviceProperties(&properties, 0));
  unsigned wave = properties.warpSize, waves = 0;
  std::vector<unsigned> led(2), votes(kN, 1);
  for (unsigned i = 0; i < kN; ++i) {
    if (i % kBlock % wave != 0) continue;
    led[0] += i / wave + 1;
    led[1] = led[1] * 2 % 65521 + 1;
    ++waves;
  }
  unsigned *lock = zeros(1), *turn = zeros(2), *device_led = zeros(2), *device_votes = zeros(kN);
  lock_by_leaders<<<kBlocks, kBlock>>>(lock, turn, device_led, device_votes);
  check(hipGetLastError());
  test.equal("sum by leaders", to_host(device_led, 2), led);
  test.equal("votes behind a lock", to_host(device_votes, kN), votes);
  test.equal("turns", to_host(turn, 2), std::vector<unsigned>(2, waves));

  unsigned* passed = zeros(kN);
  pass_on<<<kBlocks, kBlock>>>(passed);
  check(hipGetLastError());
  test.equal("flags passed on", to_host(passed, kN), std::vector<unsigned>(kN, 1));

  unsigned *next = zeros(1), *seen = zeros(kN);
  float* largest = to_device(std::vector<float>(1, 0.0f));
  no_waits<<<kBlocks, kBlock>>>(device_in, largest, next, seen);
  check(hipGetLastError());
  test.equal("largest", to_host(largest, 1)[0], static_cast<float>(*std::max_element(in.begin(), in.end())));
  test.equal("work handed out", to_host(seen, kN), in);
  return test.finish();
}
