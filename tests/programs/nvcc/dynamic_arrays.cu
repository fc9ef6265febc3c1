// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Local arrays whose size is known when they are made, in a kernel, over a barrier, and in a function that is called
// many times.
#include <alloca.h>

#include "../check.h"

constexpr unsigned kBlock = 96, kBlocks = 4, kRounds = 2000, kSize = 9;

__device__ __noinline__ unsigned backwards(const unsigned* in, unsigned count) {
  auto* copy = static_cast<unsigned*>(alloca(count * sizeof(unsigned)));
  for (unsigned i = 0; i < count; ++i) copy[i] = in[i] * (i + 1);
  unsigned sum = 0;
  for (unsigned i = count; i-- > 0;) sum = sum * 31 + copy[i];
  return sum;
}

__global__ void arrays(const unsigned* in, unsigned* out, unsigned size) {
  const unsigned count = size + threadIdx.x % 5;
  auto* own = static_cast<unsigned*>(alloca(count * sizeof(unsigned)));
  for (unsigned i = 0; i < count; ++i) own[i] = in[(threadIdx.x + i) % kBlock];
  __syncthreads();
  unsigned sum = 0;
  for (unsigned i = count; i-- > 0;) sum = sum * 31 + own[i];
  for (unsigned r = 0; r < kRounds; ++r) sum += backwards(in + r % 8, size + r % 7);
  out[blockIdx.x * kBlock + threadIdx.x] = sum;
}

int main() {
  std::vector<unsigned> in(kBlock);
  for (unsigned i = 0; i < kBlock; ++i) in[i] = i * i % 41 + 7;
  unsigned *device = to_device(in), *out = device_array<unsigned>(kBlocks * kBlock);
  arrays<<<kBlocks, kBlock>>>(device, out, kSize);
  check(hipGetLastError());
  const auto got = to_host(out, kBlocks * kBlock);
  unsigned rounds = 0;
  for (unsigned r = 0; r < kRounds; ++r) {
    unsigned sum = 0;
    for (unsigned i = kSize + r % 7; i-- > 0;) sum = sum * 31 + in[r % 8 + i] * (i + 1);
    rounds += sum;
  }
  bool good = true;
  for (unsigned t = 0; t < kBlocks * kBlock; ++t) {
    unsigned sum = 0;
    for (unsigned i = kSize + t % kBlock % 5; i-- > 0;) sum = sum * 31 + in[(t % kBlock + i) % kBlock];
    good &= got[t] == sum + rounds;
  }
  std::printf("dynamic_arrays: %s\n", good ? "ok" : "FAILED: an array does not hold what was written");
  return good ? 0 : 1;
}
