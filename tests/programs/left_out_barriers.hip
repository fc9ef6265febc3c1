// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shared variables that all threads read and then one, or all, write with no barrier in between: right in a block that
// is one wave, whose lanes run in step, and usual in programs that had luck with larger ones.
#include "check.h"

constexpr unsigned kThreads = 32, kBlocks = 3, kSteps = 40;

// Blocks take items from a common head; the next one's number overwrites the last one's.
__global__ void take_items(const unsigned* weights, unsigned* head, unsigned* sums, unsigned count) {
  extern __shared__ unsigned shared[];
  unsigned* next = &shared[1];
  if (threadIdx.x == 0) *next = atomicAdd(head, 1);
  __syncthreads();
  while (*next < count) {
    unsigned item = *next;
    if (weights[item] % 3 == 0) {
      if (threadIdx.x == 0) *next = atomicAdd(head, 1);
      __syncthreads();
      continue;
    }
    atomicAdd(&sums[item], weights[item] * (threadIdx.x + 1));
    if (threadIdx.x == 0) *next = atomicAdd(head, 1);
    __syncthreads();
  }
}

// Rounds until nothing changes any more: `done` is set by all right after all have read it. Carries move up by one
// place a round.
__global__ void settle(unsigned* values, unsigned* rounds, unsigned n) {
  __shared__ bool done;
  unsigned* mine = values + blockIdx.x * n + threadIdx.x;
  unsigned count = 0;
  do {
    done = true;
    __syncthreads();
    unsigned carry = threadIdx.x > 0 ? mine[-1] / 10 : 0;
    unsigned kept = threadIdx.x + 1 < n ? *mine % 10 : *mine;
    __syncthreads();
    *mine = kept + carry;
    if (carry != 0) done = false;
    ++count;
    __syncthreads();
  } while (!done);
  if (threadIdx.x == 0) rounds[blockIdx.x] = count;
}

// An element at a fixed place of an array, swapped with what another thread keeps.
__global__ void pass_on(const int* in, int* out) {
  __shared__ int row[4];
  if (threadIdx.x == 0) row[2] = in[0];
  __syncthreads();
  int sum = 0;
  for (unsigned step = 0; step < kSteps; ++step) {
    sum = static_cast<int>(static_cast<unsigned>(sum) + static_cast<unsigned>(row[2]) * (step + 1));
    if (threadIdx.x == step % kThreads) row[2] = in[step] ^ sum;
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

int main() {
  Test test("left_out_barriers");
  Random random(31);

  constexpr unsigned kItems = 500;
  std::vector<unsigned> weights = random.values<unsigned>(kItems, 1, 1000), sums(kItems);
  for (unsigned i = 0; i < kItems; ++i)
    sums[i] = weights[i] % 3 == 0 ? 0 : weights[i] * (kThreads * (kThreads + 1) / 2);
  unsigned *weights_there = to_device(weights), *sums_there = to_device(std::vector<unsigned>(kItems)),
           *head = to_device(std::vector<unsigned>(1));
  take_items<<<kBlocks, kThreads, 2 * sizeof(unsigned)>>>(weights_there, head, sums_there, kItems);
  check(hipGetLastError());
  test.equal("sums", to_host(sums_there, kItems), sums);
  test.equal("head", to_host(head, 1), {kItems + kBlocks});

  constexpr unsigned kDigits = kThreads;
  std::vector<unsigned> values = random.values<unsigned>(kBlocks * kDigits, 0, 99999), rounds(kBlocks);
  unsigned *values_there = to_device(values), *rounds_there = to_device(rounds);
  settle<<<kBlocks, kThreads>>>(values_there, rounds_there, kDigits);
  check(hipGetLastError());
  for (unsigned block = 0; block < kBlocks; ++block) {
    unsigned* digits = &values[block * kDigits];
    for (bool done = false; !done; ++rounds[block]) {
      done = true;
      for (unsigned i = kDigits - 1; i > 0; --i) {
        unsigned carry = digits[i - 1] / 10;
        digits[i] = (i + 1 < kDigits ? digits[i] % 10 : digits[i]) + carry;
        done &= carry == 0;
      }
      digits[0] %= 10;
    }
  }
  test.equal("values", to_host(values_there, values.size()), values);
  test.equal("rounds", to_host(rounds_there, kBlocks), rounds);

  std::vector<int> in = random.values<int>(kSteps, 0, 99), sum(kThreads);
  int *in_there = to_device(in), *out = device_array<int>(kThreads);
  pass_on<<<1, kThreads>>>(in_there, out);
  check(hipGetLastError());
  unsigned total = 0, element = in[0];
  for (unsigned step = 0; step < kSteps; ++step) {
    total += element * (step + 1);
    element = in[step] ^ total;
  }
  for (int& value : sum) value = static_cast<int>(total);
  test.equal("pass_on", to_host(out, kThreads), sum);

  for (void* memory : {(void*)weights_there, (void*)sums_there, (void*)head, (void*)values_there, (void*)rounds_there,
                       (void*)in_there, (void*)out})
    check(hipFree(memory));
  return test.finish();
}
