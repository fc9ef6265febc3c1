// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As much shared memory as a block may have, of fixed size and sized at launch together; and what asking for more
// gives. CUDA has some of it only for kernels that were allowed to use it.

#include "check.h"

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

#ifdef __CUDA__
constexpr auto kAllowed = cudaFuncAttributeMaxDynamicSharedMemorySize;

int allowed() {
  cudaFuncAttributes attributes;
  check(cudaFuncGetAttributes(&attributes, sum));
  return attributes.maxDynamicSharedSizeBytes;
}

int resident(int sized) {
  int blocks = -1;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sum, kThreads, sized));
  return blocks;
}

cudaError_t launch(int* sums, int sized) {
  sum<<<kBlocks, kThreads, sized>>>(sums, 0);
  return cudaGetLastError();
}

void ask_for_more(Test& test, int most) {
  int usual = 0, reserved = 0, all = 0;
  check(cudaDeviceGetAttribute(&usual, cudaDevAttrMaxSharedMemoryPerBlock, 0));
  check(cudaDeviceGetAttribute(&reserved, cudaDevAttrReservedSharedMemoryPerBlock, 0));
  check(cudaDeviceGetAttribute(&all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0));
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, 0));
  test.equal("usual", usual, 48 << 10);
  test.equal("of a multiprocessor", all, most + reserved);
  if (properties.major == 9) test.equal("most", most, 227 << 10);
  test.equal("its property", properties.sharedMemPerBlock, size_t(usual));
  test.equal("the most's property", properties.sharedMemPerBlockOptin, size_t(most));
  test.equal("the reserved's property", properties.reservedSharedMemPerBlock, size_t(reserved));
  test.equal("the multiprocessor's property", properties.sharedMemPerMultiprocessor, size_t(all));

  const int fixed = kFixed * sizeof(int), rest = usual - fixed;
  int* sums = to_device(std::vector<int>(kBlocks, 0));
  test.equal("allowed at first", allowed(), rest);
  test.equal("a launch with all that is allowed", launch(sums, rest), cudaSuccess);
  test.equal("a launch with more", launch(sums, rest + 16), cudaErrorInvalidValue);
  test.expect(resident(rest) > 0 && resident(rest + 16) == 0, "blocks that cannot be launched are resident");
  test.equal("more than there is", cudaFuncSetAttribute(sum, kAllowed, most - fixed + 1), cudaErrorInvalidValue);
  test.expect(cudaGetLastError() == cudaErrorInvalidValue && allowed() == rest, "it was allowed");
  check(cudaFuncSetAttribute(sum, kAllowed, rest + 16));
  test.equal("allowed then", allowed(), rest + 16);
  test.equal("a launch with that", launch(sums, rest + 16), cudaSuccess);
  test.expect(resident(rest + 16) > 0, "its blocks cannot be resident");
  test.equal("a launch with still more", launch(sums, rest + 32), cudaErrorInvalidValue);
  test.equal("less than none", cudaFuncSetAttribute(sum, kAllowed, -1), cudaErrorInvalidValue);
  test.equal("its error", cudaGetLastError(), cudaErrorInvalidValue);
  check(cudaFuncSetAttribute(sum, kAllowed, 1024));
  test.equal("a launch with less than usual", launch(sums, 1024), cudaSuccess);
  test.equal("a launch with more than that", launch(sums, 2048), cudaErrorInvalidValue);
  test.expect(resident(2048) > 0, "occupancy follows what is allowed");
  check(cudaFree(sums));
}
#endif

int main() {
  Test test("shared_limit");
  int limit = 0;
  check(hipDeviceGetAttribute(&limit, kLimit, 0));
  test.expect(limit >= 64 * 1024, "less than 64 KiB of shared memory");
  const void* kernel = reinterpret_cast<const void*>(sum);
  hipFuncAttributes attributes;
  check(hipFuncGetAttributes(&attributes, kernel));
  test.equal("fixed bytes", attributes.sharedSizeBytes, kFixed * sizeof(int));

#ifdef __CUDA__
  ask_for_more(test, limit);
#endif
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
