// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel may ask the hardware about itself: address spaces of pointers, its arguments' place, registers, where
// dynamic shared memory begins; ending a thread anywhere; assembly that only waits.
#include "check.h"

constexpr unsigned kThreads = 96, kBlocks = 20;

// What each thread answers, a bit each.
enum Fact : unsigned {
  kSharedIsShared = 1,
  kGlobalIsShared = 2,
  kLocalIsShared = 4,
  kLocalIsPrivate = 8,
  kGlobalIsPrivate = 16,
  kSharedIsPrivate = 32,
  kDynamicIsShared = 64,
  kDynamicFollowsStatic = 128,
  kArgumentsFound = 256,
  kSmallProcessor = 512,
  kWaitsPass = 1024
};
constexpr unsigned kExpected = kSharedIsShared | kLocalIsPrivate | kDynamicIsShared | kDynamicFollowsStatic |
                               kArgumentsFound | kSmallProcessor | kWaitsPass;

using Address = const __attribute__((address_space(0))) void*;
__device__ bool is_shared(const void* p) { return __builtin_amdgcn_is_shared((Address)p); }
__device__ bool is_private(const void* p) { return __builtin_amdgcn_is_private((Address)p); }

__global__ void ask(unsigned* out, unsigned n) {
  __shared__ int fixed[40];
  extern __shared__ int dynamic[];
  volatile int local[8];
  for (unsigned i = 0; i < 8; ++i) local[(threadIdx.x + i) % 8] = static_cast<int>(n);
  fixed[threadIdx.x % 40] = 1;
  dynamic[threadIdx.x] = 2;
  const void* mine = const_cast<const int*>(local);
  unsigned facts = 0;
  facts |= is_shared(fixed) ? kSharedIsShared : 0;
  facts |= is_shared(out) ? kGlobalIsShared : 0;
  facts |= is_shared(mine) ? kLocalIsShared : 0;
  facts |= is_private(mine) ? kLocalIsPrivate : 0;
  facts |= is_private(out) ? kGlobalIsPrivate : 0;
  facts |= is_private(fixed) ? kSharedIsPrivate : 0;
  facts |= is_shared(dynamic + threadIdx.x) ? kDynamicIsShared : 0;
  facts |= __get_dynamicgroupbaseptr() == dynamic ? kDynamicFollowsStatic : 0;
  auto* bytes = (unsigned* const*)__builtin_amdgcn_kernarg_segment_ptr();
  facts |= *bytes == out ? kArgumentsFound : 0;
  facts |= __smid() < 64 ? kSmallProcessor : 0;
  unsigned waited = facts;
  asm volatile("s_waitcnt vmcnt(0)\n\ts_nop 1" : "+v"(waited) : : "memory");
  facts |= waited == facts ? kWaitsPass : 0;
  out[blockIdx.x * blockDim.x + threadIdx.x] = facts;
}

// Threads end inside a function and a loop; the others still meet.
__device__ void leave_if(bool leave) {
  if (leave) __builtin_amdgcn_endpgm();
}

__global__ void end(int* out) {
  __shared__ int left;
  if (threadIdx.x == 0) left = 0;
  __syncthreads();
  for (unsigned round = 0; round < 4; ++round) leave_if(threadIdx.x % 5 == round);
  atomicAdd(&left, 1);
  __syncthreads();
  out[threadIdx.x] = left;
}

int main() {
  Test test("launch_intrinsics");
  unsigned* facts = to_device(std::vector<unsigned>(kThreads * kBlocks, 0));
  ask<<<kBlocks, kThreads, kThreads * sizeof(int)>>>(facts, 5);
  test.equal("facts", to_host(facts, kThreads * kBlocks), std::vector<unsigned>(kThreads * kBlocks, kExpected));
  int* left = to_device(std::vector<int>(kThreads, -1));
  end<<<1, kThreads>>>(left);
  std::vector<int> want(kThreads);
  for (unsigned i = 0; i < kThreads; ++i) want[i] = i % 5 == 4 ? static_cast<int>(kThreads / 5) : -1;
  test.equal("those that are left", to_host(left, kThreads), want);
  check(hipFree(facts));
  check(hipFree(left));
  return test.finish();
}
