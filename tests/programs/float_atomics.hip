// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Atomic additions of float and double. The values are small multiples of 1/2, so every sum is exact and the order does
// not matter; nor does it for a maximum, built from compare-and-swap as code for older GPUs does.

#include <algorithm>

#include "check.h"

constexpr int kCells = 64;

__device__ void atomic_max(float* address, float value) {
  int* bits = reinterpret_cast<int*>(address);
  int seen = __float_as_int(0.0f), expected;  // a first guess, less than any value here
  do {
    expected = seen;
    seen = atomicCAS(bits, expected, __float_as_int(value));
  } while (seen != expected && __int_as_float(seen) < value);
}

__global__ void float_atomics(const float* values, int n, float* sums, double* wide_sums, float* most) {
  __shared__ float block_sum;
  if (threadIdx.x == 0) block_sum = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(&block_sum, values[i]);
    atomicAdd(&sums[1 + i % (kCells - 1)], values[i]);
    atomicAdd(&wide_sums[i % kCells], values[i] * 0.5);
    atomic_max(&most[i % kCells], values[i]);
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&sums[0], block_sum);
}

int main() {
  Test test("float_atomics");
  const int n = 20000;
  Random random(1);
  std::vector<float> values(n);
  for (float& value : values) value = static_cast<float>(random.between(1, 500));  // n * 500 < 2^24
  std::vector<float> sums(kCells, 3), most(kCells, 2);
  std::vector<double> wide_sums(kCells, 0.25);
  float* device_values = to_device(values);
  float* device_sums = to_device(sums);
  double* device_wide_sums = to_device(wide_sums);
  float* device_most = to_device(most);
  for (int i = 0; i < n; ++i) {
    sums[0] += values[i];
    sums[1 + i % (kCells - 1)] += values[i];
    wide_sums[i % kCells] += values[i] * 0.5;
    most[i % kCells] = std::max(most[i % kCells], values[i]);
  }

  float_atomics<<<blocks_for(n, 128), 128>>>(device_values, n, device_sums, device_wide_sums, device_most);
  check(hipGetLastError());

  test.equal("sums", to_host(device_sums, kCells), sums);
  test.equal("wide_sums", to_host(device_wide_sums, kCells), wide_sums);
  test.equal("most", to_host(device_most, kCells), most);
  check(hipFree(device_values));
  check(hipFree(device_sums));
  check(hipFree(device_wide_sums));
  check(hipFree(device_most));
  return test.finish();
}
