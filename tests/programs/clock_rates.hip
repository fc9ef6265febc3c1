// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// clock(), clock64() and wall_clock64(): they go on, never back, and a kernel can wait by them. What they say is not
// kept in memory: it is never the same.

#include "check.h"

#if defined(__HIP_DEVICE_COMPILE__) && !__has_builtin(__builtin_amdgcn_s_memrealtime)
// From gfx11 on the clock is asked for by a message. HIP 5's wall_clock64() does not know that and is always -1, so
// that what waits by it waits forever, on any device.
__device__ long long ticks() { return __builtin_amdgcn_s_sendmsg_rtnl(0x83); }
#elif defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA__)
__device__ long long ticks() { return wall_clock64(); }
#else
__device__ long long ticks();  // HIP 5 declares it for the device only
#endif

__global__ void wait(int* good, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long begin = clock64(), wall = ticks(), now = begin, before = begin;
  bool forward = true;
  for (int turn = 0; turn < 10; ++turn) {
    now = clock64();
    forward = forward && now >= before;
    before = now;
  }
  while (clock64() - begin < 1000) {
  }
  while (ticks() - wall < 100) {  // a microsecond, or so
  }
  good[i] = forward && clock64() > begin && ticks() - wall >= 100 && clock() != 0;
}

int main() {
  Test test("clock_rates");
  const int n = 256;
  int* good = to_device(std::vector<int>(n));
  wait<<<blocks_for(n, 64), 64>>>(good, n);
  check(hipGetLastError());
  test.equal("good", to_host(good, n), std::vector<int>(n, 1));
  check(hipFree(good));
  return test.finish();
}
