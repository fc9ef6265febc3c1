// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers that tell how many threads of the block bring a condition, whether all do, and whether any does.

#include "check.h"

struct Answers {
  int count, all, any;
};

// One after the other, for conditions that hold ever more rarely, in a loop that ends when none of the block's does.
__global__ void ask(const unsigned* data, Answers* answers, int* rounds, unsigned limit) {
  unsigned value = data[(blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x];
  Answers mine = {0, 0, 0};
  int round = 0;
  for (unsigned bound = limit; __syncthreads_or(value < bound); bound /= 2) {
    mine.count += __syncthreads_count(value < bound);
    mine.all += __syncthreads_and(value < bound) != 0;
    mine.any += __syncthreads_or(value == bound) != 0;
    ++round;
  }
  int i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  answers[i] = mine;
  rounds[i] = round;
}

int main() {
  Test test("barrier_count");
  const dim3 block(25, 7);
  const int threads = 25 * 7, blocks = 9, count = threads * blocks;
  const unsigned limit = 4096;
  std::vector<unsigned> data = Random(1).values(count, 16u, 2 * limit);
  std::vector<int> counts(count), all(count), any(count), rounds(count);
  for (int b = 0; b < blocks; ++b) {
    Answers answers = {0, 0, 0};
    int round = 0;
    for (unsigned bound = limit;; bound /= 2, ++round) {
      int below = 0, equal = 0;
      for (int t = 0; t < threads; ++t) {
        below += data[b * threads + t] < bound;
        equal += data[b * threads + t] == bound;
      }
      if (below == 0) break;
      answers.count += below;
      answers.all += below == threads;
      answers.any += equal > 0;
    }
    for (int i = b * threads; i < (b + 1) * threads; ++i) {
      counts[i] = answers.count, all[i] = answers.all, any[i] = answers.any, rounds[i] = round;
    }
  }

  unsigned* device_data = to_device(data);
  Answers* device_answers = device_array<Answers>(count);
  int* device_rounds = device_array<int>(count);
  ask<<<blocks, block>>>(device_data, device_answers, device_rounds, limit);
  check(hipGetLastError());
  std::vector<Answers> answers = to_host(device_answers, count);
  std::vector<int> got_counts, got_all, got_any;
  for (const Answers& a : answers) {
    got_counts.push_back(a.count);
    got_all.push_back(a.all);
    got_any.push_back(a.any);
  }
  test.equal("count", got_counts, counts);
  test.equal("all", got_all, all);
  test.equal("any", got_any, any);
  test.equal("rounds", to_host(device_rounds, count), rounds);

  check(hipFree(device_data));
  check(hipFree(device_answers));
  check(hipFree(device_rounds));
  return test.finish();
}
