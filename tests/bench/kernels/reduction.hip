// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SIZE floats (default 16 Mi: 64 MiB) summed in blocks of 256 by halving in shared memory: one result a block, a
// barrier a step.

#include "../../programs/check.h"
#include "bench.h"

constexpr int kBlock = 256;

__global__ void __launch_bounds__(kBlock) reduction(const float* in, float* sums, std::size_t n) {
  __shared__ float partial[kBlock];
  std::size_t i = std::size_t(blockIdx.x) * kBlock + threadIdx.x;
  partial[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int stride = kBlock / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) partial[threadIdx.x] += partial[threadIdx.x + stride];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

int main(int argc, char** argv) {
  const auto [size, repeats] = parse_arguments(argc, argv, 16 << 20);
  const std::size_t n = size;
  const std::size_t blocks = blocks_for(n, kBlock);
  std::vector<float> in(n);
  for (std::size_t i = 0; i < n; ++i) in[i] = value_at(i);
  float* device_in = to_device(in);
  float* device_sums = device_array<float>(blocks);

  long long best = best_of(repeats, [&] {
    reduction<<<blocks, kBlock>>>(device_in, device_sums, n);
    check(hipGetLastError());
    check(hipDeviceSynchronize());
  });

  std::vector<float> sums = to_host(device_sums, blocks);
  bool right = true;
  for (std::size_t block = 0; block < blocks; ++block) {
    double sum = 0;
    for (std::size_t i = block * kBlock; i < std::min(n, (block + 1) * kBlock); ++i) sum += in[i];
    right &= is_close(sums[block], sum);
  }
  check(hipFree(device_in));
  check(hipFree(device_sums));
  return report("reduction", best, right);
}
