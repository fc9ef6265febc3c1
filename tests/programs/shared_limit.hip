// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As much shared memory as a block may have, of fixed size and sized at launch together; and what asking for more
// gives.

#include "check.h"

// CUDA has more for a kernel that asks for it.
#ifdef __CUDA__
constexpr auto kLimit = cudaDevAttrMaxSharedMemoryPerBlockOptin;
#else
constexpr auto kLimit = hipDeviceAttributeMaxSharedMemoryPerBlock;
#endif

constexpr int kFixed = 10000, kThreads = 128, kBlocks = 3;

__global__ void sum(int* sums, int sized) {
  __shared__ int fixed[kFixed];
  extern __shared__ int more[];
  int t = threadIdx.x, last = kThreads - 1 - t;
  for (int i = t; i < kFixed; i += kThreads) fixed[i] = 3 * i + blockIdx.x;
  for (int i = t; i < sized; i += kThreads) more[i] = 5 * i + blockIdx.x;
  __syncthreads();
  int mine = 0;
  for (int i = last; i < kFixed; i += kThreads) mine += fixed[i] % 1000;
  for (int i = last; i < sized; i += kThreads) mine -= more[i] % 1000;
  atomicAdd(&sums[blockIdx.x], mine);
}

int main() {
  Test test("shared_limit");
  int limit = 0;
  check(hipDeviceGetAttribute(&limit, kLimit, 0));
  test.expect(limit >= 64 * 1024, "less than 64 KiB of shared memory");
  const void* kernel = reinterpret_cast<const void*>(sum);
  hipFuncAttributes attributes;
  check(hipFuncGetAttributes(&attributes, kernel));
  test.equal("fixed bytes", attributes.sharedSizeBytes, kFixed * sizeof(int));

  check(hipFuncSetAttribute(kernel, hipFuncAttributeMaxDynamicSharedMemorySize, limit - kFixed * sizeof(int)));
  int sized = limit / static_cast<int>(sizeof(int)) - kFixed;
  int* sums = to_device(std::vector<int>(kBlocks, 0));
  sum<<<kBlocks, kThreads, sized * sizeof(int)>>>(sums, sized);
  check(hipGetLastError());
  std::vector<int> want(kBlocks);
  for (int b = 0; b < kBlocks; ++b) {
    for (int i = 0; i < kFixed; ++i) want[b] += (3 * i + b) % 1000;
    for (int i = 0; i < sized; ++i) want[b] -= (5 * i + b) % 1000;
  }
  test.equal("sums", to_host(sums, kBlocks), want);

  sum<<<kBlocks, kThreads, (sized + 1) * sizeof(int)>>>(sums, sized);
  test.expect(hipGetLastError() != hipSuccess, "more than there is was launched");
  test.equal("sums after a launch that was refused", to_host(sums, kBlocks), want);
  check(hipFree(sums));
  return test.finish();
}
