// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recursive function finds out for itself which thread it runs for: after lanes went round a loop unequally often and
// met there, or not at all, and where much code follows that several ways lead to.

#include "check.h"

constexpr int kThreads = 100, kBlocks = 3, kCount = kThreads * kBlocks;

// With the thread that asks, `where`, passed along: on the host it is given, on the device it is found.
template <class Where>
__host__ __device__ int descend(int x, Where where) {
  if (x % 16 == 0) return where();
  return descend(x - 1, where) + 3;
}
__device__ int descend_here(int x) {
  if (x % 16 == 0) return static_cast<int>(threadIdx.x + 1000 * blockIdx.x);
  return descend_here(x - 1) + 3;
}
int expected(int x, int thread) {
  return descend(x, [&] { return thread % kThreads + 1000 * (thread / kThreads); });
}

// Lanes go on at the end of the loop whether they met or not.
__global__ void after_continue(const int* in, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, seen = 0;
  for (int round = 0; round < in[i] % 4; ++round) {
    if ((in[i] + round) % 3 == 0) continue;
    seen += __any(in[i] % 5 == round) ? 1 : 2;
  }
  if (in[i] % 2 == 0) {
    out[i] = descend_here(in[i] + (seen & 0));
    return;
  }
  out[i] = -1;
}

// Much code follows the loop, and is reached with and without it.
// Much code.
template <unsigned kStep = 1>
__host__ __device__ unsigned stir(unsigned y, unsigned mixed = 0) {
  if constexpr (kStep == 60) {
    return mixed;
  } else {
    return stir<kStep + 1>(y * 7 + kStep, mixed * 31 + y % (kStep + 1));
  }
}

__global__ void after_loop(const int* in, unsigned* out, int* sums, int rounds) {
  __shared__ int board[kThreads];
  int i = blockIdx.x * blockDim.x + threadIdx.x, x = 1;
  board[threadIdx.x] = 0;
  __syncthreads();
  for (int round = in[i] % 4; round > 0; --round) x += __shfl_xor(in[i], 33, 64) & 0;
  for (int round = 0; round < rounds; ++round) {
    atomicAdd(&sums[descend_here(in[i] + x) % 8], 1);
    __syncthreads();
    board[(threadIdx.x + 1) % kThreads] = in[i] + round;
    __syncthreads();
  }
  out[i] = stir(board[threadIdx.x]);
}

int main() {
  Test test("recursion_among_lanes");
#ifdef __CUDA__  // by itself it has a kibibyte a thread for that
  check(cudaDeviceSetLimit(cudaLimitStackSize, 16 * 1024));
#endif
  const int rounds = 2;
  std::vector<int> in = Random(3).values(kCount, 0, 1000), want(kCount), sums(8);
  std::vector<unsigned> stirred(kCount);
  int *device_in = to_device(in), *out = to_device(want), *device_sums = to_device(sums);
  unsigned* device_stirred = to_device(stirred);

  after_continue<<<kBlocks, kThreads>>>(device_in, out);
  for (int i = 0; i < kCount; ++i) want[i] = in[i] % 2 == 0 ? expected(in[i], i) : -1;
  test.equal("after_continue", to_host(out, kCount), want);

  after_loop<<<kBlocks, kThreads>>>(device_in, device_stirred, device_sums, rounds);
  for (int i = 0; i < kCount; ++i) {
    sums[expected(in[i] + 1, i) % 8] += rounds;
    int left = i / kThreads * kThreads + (i % kThreads + kThreads - 1) % kThreads;
    stirred[i] = stir(static_cast<unsigned>(in[left] + rounds - 1));
  }
  test.equal("after_loop", to_host(device_stirred, kCount), stirred);
  test.equal("sums", to_host(device_sums, 8), sums);
  check(hipFree(device_in));
  check(hipFree(out));
  check(hipFree(device_stirred));
  check(hipFree(device_sums));
  return test.finish();
}
