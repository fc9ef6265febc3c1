// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a device says of itself, in properties and attributes, agrees with what kernels see and what launches may ask
// for; occupancy; contexts; the wrong arguments and what they give.

#include "check.h"

__global__ __launch_bounds__(512) void reverse(int* values, int n, int* wave) {
  __shared__ int tile[512];
  int i = threadIdx.x;
  if (i < n) tile[i] = values[i];
  __syncthreads();
  if (i < n) values[i] = tile[n - 1 - i];
  if (i == 0) *wave = warpSize;
}

int attribute(hipDeviceAttribute_t which) {
  int value = -1;
  check(hipDeviceGetAttribute(&value, which, 0));
  return value;
}

void check_device(Test& test, int wave) {
  hipDeviceProp_t p = {};
  check(hipGetDeviceProperties(&p, 0));
  test.equal("wave size", p.warpSize, wave);
  bool wide = std::strncmp(p.gcnArchName, "gfx9", 4) == 0;
  test.equal("wave size of the architecture", p.warpSize, wide ? 64 : 32);
  test.equal("wave size attribute", attribute(hipDeviceAttributeWarpSize), p.warpSize);
  test.equal("threads", attribute(hipDeviceAttributeMaxThreadsPerBlock), p.maxThreadsPerBlock);
  test.equal("multiprocessors", attribute(hipDeviceAttributeMultiprocessorCount), p.multiProcessorCount);
  test.equal("clock", attribute(hipDeviceAttributeClockRate), p.clockRate);
  test.equal("grid", attribute(hipDeviceAttributeMaxGridDimX), p.maxGridSize[0]);
  test.expect(p.multiProcessorCount > 0 && p.clockRate > 0 && p.memoryBusWidth > 0 && p.l2CacheSize > 0 &&
                  p.totalGlobalMem > 0 && p.name[0] && p.maxThreadsPerBlock >= 512 && p.sharedMemPerBlock >= 32768 &&
                  p.regsPerBlock > 0 && p.maxThreadsPerMultiProcessor >= p.maxThreadsPerBlock,
              "a device that nobody would believe");
  int count = 0, chosen = -1;
  check(hipGetDeviceCount(&count));
  test.expect(count >= 1, "no device");
  check(hipChooseDevice(&chosen, &p));
  test.expect(chosen >= 0 && chosen < count, "a device that there is not");
  char name[256], bus[64];
  check(hipDeviceGetName(name, sizeof name, 0));
  test.expect(std::strcmp(name, p.name) == 0, "two names");
  check(hipDeviceGetPCIBusId(bus, sizeof bus, 0));
  check(hipDeviceGetByPCIBusId(&chosen, bus));
  test.equal("by its bus", chosen, 0);
  test.equal("a device too many", hipSetDevice(count), hipErrorInvalidDevice);
  test.equal("negative", hipSetDevice(-1), hipErrorInvalidDevice);
  test.equal("kept", hipGetLastError(), hipErrorInvalidDevice);
  test.equal("once", hipGetLastError(), hipSuccess);
  test.equal("nowhere to put it", hipGetDeviceCount(nullptr), hipErrorInvalidValue);
  test.equal("no properties", hipGetDeviceProperties(nullptr, 0), hipErrorInvalidValue);
  test.equal("of no device", hipGetDeviceProperties(&p, count), hipErrorInvalidDevice);
  test.equal("not even itself", hipDeviceCanAccessPeer(&chosen, 0, count), hipErrorInvalidDevice);
  check(hipDeviceCanAccessPeer(&chosen, 0, 0));
  test.equal("its own peer", chosen, 0);
  (void)hipGetLastError();
}

void check_occupancy(Test& test) {
  const void* kernel = reinterpret_cast<const void*>(reverse);
  hipFuncAttributes a = {};
  check(hipFuncGetAttributes(&a, kernel));
  test.equal("static shared memory", a.sharedSizeBytes, std::size_t{2048});
  test.equal("its launch bounds", a.maxThreadsPerBlock, 512);
  test.expect(a.numRegs > 0, "registers of the kernel");
  int blocks = 0, fewer = 0, none = -1, grid = 0, block = 0;
  check(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 128, 0));
  check(hipOccupancyMaxActiveBlocksPerMultiprocessor(&fewer, kernel, 128, 30000));
  test.expect(blocks > fewer && fewer >= 1, "more shared memory, fewer blocks");
  check(hipOccupancyMaxActiveBlocksPerMultiprocessor(&none, kernel, 1024, 0));
  test.equal("blocks beyond the launch bounds", none, 0);
  check(hipOccupancyMaxPotentialBlockSize(&grid, &block, kernel, 0, 0));
  test.expect(grid > 0 && block > 0 && block % warpSize == 0, "the best block");
  check(hipOccupancyMaxPotentialBlockSize(&grid, &block, kernel, 0, 64));
  test.expect(block <= 64, "a limit that is kept");
  test.equal("nowhere", hipOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, kernel, 128, 0), hipErrorInvalidValue);
  test.equal("no kernel", hipFuncGetAttributes(&a, &grid), hipErrorInvalidDeviceFunction);
  check(hipFuncSetAttribute(kernel, hipFuncAttributeMaxDynamicSharedMemorySize, 16384));
  check(hipFuncSetCacheConfig(kernel, hipFuncCachePreferL1));
  (void)hipGetLastError();
}

#pragma clang diagnostic ignored "-Wdeprecated-declarations"
void check_contexts(Test& test) {
  hipDevice_t device = -1;
  check(hipInit(0));
  check(hipDeviceGet(&device, 0));
  hipCtx_t primary = nullptr, made = nullptr, current = nullptr;
  check(hipDevicePrimaryCtxRetain(&primary, device));
  unsigned flags = 0;
  int active = 0;
  check(hipDevicePrimaryCtxGetState(device, &flags, &active));
  test.equal("active", active, 1);
  check(hipCtxCreate(&made, 0, device));
  check(hipCtxGetCurrent(&current));
  test.expect(current == made, "a new context is current");
  check(hipCtxPopCurrent(&current));
  test.expect(current == made, "it is popped");
  check(hipCtxSetCurrent(primary));
  check(hipCtxGetDevice(&device));
  test.equal("device", device, 0);
  check(hipCtxSynchronize());
  check(hipCtxDestroy(made));
  check(hipDevicePrimaryCtxRelease(device));
  test.equal("gone", hipCtxDestroy(made), hipErrorInvalidContext);
  test.equal("flags", hipInit(1), hipErrorInvalidValue);
  (void)hipGetLastError();
}

int main() {
  Test test("device_queries");
  const int n = 500;
  std::vector<int> values(n), reversed(n);
  for (int i = 0; i < n; ++i) values[i] = reversed[n - 1 - i] = i;
  int *memory = to_device(values), *wave = device_array<int>(1);
  reverse<<<1, 512>>>(memory, n, wave);
  check(hipGetLastError());
  test.equal("reversed", to_host(memory, n), reversed);
  check_device(test, to_host(wave, 1)[0]);
  check_occupancy(test);
  check_contexts(test);

  hipDeviceProp_t p = {};
  check(hipGetDeviceProperties(&p, 0));
  reverse<<<1, p.maxThreadsPerBlock + 1>>>(memory, n, wave);
  test.equal("too large a block", hipGetLastError(), hipErrorInvalidConfiguration);
  reverse<<<1, 640>>>(memory, n, wave);
  test.equal("beyond the launch bounds", hipGetLastError(), hipErrorLaunchFailure);
  check(hipDeviceSynchronize());
  test.equal("nothing of it ran", to_host(memory, n), reversed);
  reverse<<<0, 64>>>(memory, n, wave);
  test.equal("no blocks", hipGetLastError(), hipErrorInvalidConfiguration);
  check(hipFree(memory));
  check(hipFree(wave));
  return test.finish();
}
