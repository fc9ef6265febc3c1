// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Indices into shared memory and into a work-item's own that wrap in 32 bits: from the middle of an array, the one at
// ~i is -i - 1 elements away.
#include "check.h"

constexpr unsigned kThreads = 128, kHalf = kThreads / 2, kOwn = 9;

__global__ void reverse_half(const int* in, int* out) {
  __shared__ int whole[kThreads];
  unsigned i = threadIdx.x;
  whole[i] = in[i];
  __syncthreads();
  out[i] = i < kHalf ? (whole + kHalf)[~i] : (whole + kHalf)[i - kHalf];
}

__global__ void pick(const unsigned* which, int* out) {
  int own[kOwn];
  for (unsigned i = 0; i < kOwn; ++i) own[i] = 100 * threadIdx.x + i;
  out[threadIdx.x] = (own + kOwn / 2)[which[threadIdx.x]];
}

int main() {
  Test test("wrapping_indices");
  std::vector<int> in = Random(3).values<int>(kThreads, -1000, 1000), reversed(kThreads), picked(kThreads);
  std::vector<unsigned> which(kThreads);
  for (unsigned i = 0; i < kThreads; ++i) {
    reversed[i] = i < kHalf ? in[kHalf - 1 - i] : in[i];
    which[i] = i % kOwn - kOwn / 2;
    picked[i] = 100 * i + i % kOwn;
  }
  int *device_in = to_device(in), *device_out = device_array<int>(kThreads);
  unsigned* device_which = to_device(which);
  reverse_half<<<1, kThreads>>>(device_in, device_out);
  test.equal("reverse_half", to_host(device_out, kThreads), reversed);
  pick<<<1, kThreads>>>(device_which, device_out);
  test.equal("pick", to_host(device_out, kThreads), picked);
  for (void* memory : {(void*)device_in, (void*)device_out, (void*)device_which}) check(hipFree(memory));
  return test.finish();
}
