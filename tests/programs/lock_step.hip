// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs that count on the lanes of a wave running in step: the end of a reduction in volatile shared memory with no
// barrier, shared memory with nothing but fences or wave barriers between, tiles that synchronise.
#include "check.h"
// After the runtime's header, which it needs.
#include <hip/hip_cooperative_groups.h>

constexpr unsigned kThreads = 128, kBlocks = 3;

template <class T>
__device__ void reduce_wave(volatile T* shared, unsigned i) {
  // Good for waves of 32 and of 64.
  shared[i] += shared[i + 32];
  if (i < 16) {
    shared[i] += shared[i + 16];
    shared[i] += shared[i + 8];
    shared[i] += shared[i + 4];
    shared[i] += shared[i + 2];
    shared[i] += shared[i + 1];
  }
}

template <class T>
__global__ void reduce(const T* in, T* out) {
  __shared__ T shared[kThreads];
  unsigned i = threadIdx.x;
  shared[i] = in[blockIdx.x * kThreads + i];
  __syncthreads();
  if (i < 64) shared[i] += shared[i + 64];
  __syncthreads();
  if (i < 32) reduce_wave(shared, i);
  if (i == 0) out[blockIdx.x] = shared[0];
}

// A scan of 32 by pointer, `volatile` in a loop, and a rotation through a volatile variable's neighbours.
__global__ void scan(const int* in, int* out) {
  extern __shared__ int dynamic[];
  volatile int* row = dynamic + threadIdx.x / 32 * 64;
  unsigned lane = threadIdx.x % 32;
  row[lane] = 0;
  row[lane + 32] = in[threadIdx.x];
  for (unsigned step = 1; step < 32; step *= 2) {
    int before = row[lane + 32 - step];
    row[lane + 32] = row[lane + 32] + before;
  }
  out[threadIdx.x] = row[lane + 32];
  row[lane + 32] = static_cast<int>(threadIdx.x);
  int turned = row[32 + (lane + 5) % 32];
  row[lane + 32] = turned;
  out[kThreads + threadIdx.x] = row[32 + (lane + 1) % 32];
}

// Waves' own memory, without `volatile`.
__global__ void exchange(const int* in, int* out) {
  __shared__ int shared[kThreads];
  unsigned i = threadIdx.x;
  shared[i] = in[i];
  __threadfence_block();
  int other = shared[i ^ 13];
  __builtin_amdgcn_wave_barrier();
  shared[i] = 3 * other;
  __builtin_amdgcn_wave_barrier();
  int third = shared[i ^ 7];
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
  if (i % 2) {
    shared[i] = third + 1;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    third = shared[i ^ 2];
  }
  out[i] = third;
}

__global__ void tiles(const int* in, int* out) {
  namespace cg = cooperative_groups;
  __shared__ int shared[kThreads];
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  unsigned i = block.thread_rank(), base = i - tile.thread_rank();
  int sum = in[i];
  for (unsigned half = tile.size() / 2; half; half /= 2) {
    shared[i] = sum;
    tile.sync();
    sum += shared[base + (tile.thread_rank() + half) % tile.size()];
    tile.sync();
  }
  out[i] = sum;
}

template <class T>
void check_reduction(Test& test, const char* what) {
  std::vector<T> in = Random(3).values<T>(kBlocks * kThreads, -50, 50);
  for (T& value : in) value = static_cast<T>(static_cast<int>(value));  // exact sums
  T *device_in = to_device(in), *device_out = device_array<T>(kBlocks);
  reduce<<<kBlocks, kThreads>>>(device_in, device_out);
  std::vector<T> want(kBlocks, 0);
  for (unsigned i = 0; i < in.size(); ++i) want[i / kThreads] += in[i];
  test.equal(what, to_host(device_out, kBlocks), want);
  check(hipFree(device_in));
  check(hipFree(device_out));
}

int main() {
  Test test("lock_step");
  check_reduction<int>(test, "int");
  check_reduction<float>(test, "float");
  check_reduction<double>(test, "double");

  std::vector<int> in = Random(9).values(kThreads, -1000, 1000), want(2 * kThreads);
  int *device_in = to_device(in), *device_out = device_array<int>(2 * kThreads);
  scan<<<1, kThreads, kThreads * 2 * sizeof(int)>>>(device_in, device_out);
  for (unsigned i = 0; i < kThreads; ++i) {
    want[i] = in[i] + (i % 32 ? want[i - 1] : 0);
    want[kThreads + i] = static_cast<int>(i / 32 * 32 + (i + 6) % 32);
  }
  test.equal("scan", to_host(device_out, 2 * kThreads), want);

  exchange<<<1, kThreads>>>(device_in, device_out);
  want.assign(kThreads, 0);
  auto third = [&](unsigned i) { return 3 * in[i ^ 7 ^ 13]; };
  for (unsigned i = 0; i < kThreads; ++i) want[i] = i % 2 ? third(i ^ 2) + 1 : third(i);
  test.equal("exchange", to_host(device_out, kThreads), want);

  tiles<<<1, kThreads>>>(device_in, device_out);
  for (unsigned i = 0; i < kThreads; ++i) {
    want[i] = 0;
    for (unsigned j = i / 16 * 16; j < i / 16 * 16 + 16; ++j) want[i] += in[j];
  }
  test.equal("tiles", to_host(device_out, kThreads), want);
  check(hipFree(device_in));
  check(hipFree(device_out));
  return test.finish();
}
