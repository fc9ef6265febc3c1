// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts bytes: atomics on shared memory within a block, then on global memory between blocks. Integer sums, so the
// order in which they happen does not show.

#include "check.h"

constexpr int kBins = 256;

__global__ void histogram(const unsigned char* data, int n, unsigned* bins) {
  __shared__ unsigned local[kBins];
  for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x) local[bin] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[data[i]], 1u);
  __syncthreads();
  for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x)
    if (local[bin] != 0) atomicAdd(&bins[bin], local[bin]);
}

int main() {
  Test test("histogram");
  const int n = 200001;
  Random random(1);
  std::vector<unsigned char> data(n);
  // The product of two numbers: some bins are far more crowded than others.
  for (unsigned char& value : data) value = static_cast<unsigned char>(random.below(16) * random.below(17));
  std::vector<unsigned> want(kBins, 5);  // the counts go on top of what is there
  for (unsigned char value : data) ++want[value];

  unsigned char* device_data = to_device(data);
  unsigned* device_bins = to_device(std::vector<unsigned>(kBins, 5));
  histogram<<<24, 192>>>(device_data, n, device_bins);
  check(hipGetLastError());

  test.equal("bins", to_host(device_bins, kBins), want);
  check(hipFree(device_data));
  check(hipFree(device_bins));
  return test.finish();
}
