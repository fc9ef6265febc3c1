// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sum by halving in shared memory: a barrier after every step of a loop. Launched twice, the second time over the
// first one's results.

#include "check.h"

constexpr int kBlock = 256;

__global__ void __launch_bounds__(kBlock) tree_reduction(const double* in, double* out, int n) {
  __shared__ double partial[kBlock];
  int i = blockIdx.x * kBlock + threadIdx.x;
  partial[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int stride = kBlock / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) partial[threadIdx.x] += partial[threadIdx.x + stride];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

int main() {
  Test test("tree_reduction");
  const int n = 60000;
  const int blocks = blocks_for(n, kBlock);
  std::vector<double> in = Random(1).values(n, 0.5, 1.5);
  std::vector<double> sums(blocks);
  double total = 0;
  for (int i = 0; i < n; ++i) {
    sums[i / kBlock] += in[i];
    total += in[i];
  }

  double* device_in = to_device(in);
  double* device_sums = device_array<double>(blocks);
  double* device_total = device_array<double>(1);
  static_assert(n <= kBlock * kBlock, "two passes are enough");
  tree_reduction<<<blocks, kBlock>>>(device_in, device_sums, n);
  check(hipGetLastError());
  tree_reduction<<<1, kBlock>>>(device_sums, device_total, blocks);
  check(hipGetLastError());

  // Another order of adding, so other rounding.
  test.close("sums", to_host(device_sums, blocks), sums, 1e-12);
  test.close("total", to_host(device_total, 1), std::vector<double>{total}, 1e-12);
  check(hipFree(device_in));
  check(hipFree(device_sums));
  check(hipFree(device_total));
  return test.finish();
}
