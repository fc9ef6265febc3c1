// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared memory whose size is given at the launch, beside shared memory of a fixed size: a weighted moving sum with
// different radii.

#include "check.h"

constexpr int kMaxRadius = 16;

__global__ void moving_sum(const float* in, float* out, int n, int radius) {
  extern __shared__ float window[];              // blockDim.x + 2 * radius
  __shared__ float weights[2 * kMaxRadius + 1];  // 1, 1/2, 1/3 … to either side
  int first = static_cast<int>(blockIdx.x * blockDim.x) - radius;
  for (int i = threadIdx.x; i < static_cast<int>(blockDim.x) + 2 * radius; i += blockDim.x)
    window[i] = first + i >= 0 && first + i < n ? in[first + i] : 0;
  for (int i = threadIdx.x; i <= 2 * radius; i += blockDim.x) weights[i] = 1.0f / (1 + abs(i - radius));
  __syncthreads();

  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int j = 0; j <= 2 * radius; ++j) sum += weights[j] * window[threadIdx.x + j];
  out[i] = sum;
}

int main() {
  Test test("dynamic_shared");
  const int n = 20011;
  std::vector<float> in = Random(1).values(n, -1.0f, 1.0f);
  float* device_in = to_device(in);
  float* device_out = device_array<float>(n);

  for (int radius : {1, 5, kMaxRadius})
    for (int block : {64, 250}) {
      std::size_t shared = (block + 2 * radius) * sizeof(float);
      moving_sum<<<blocks_for(n, block), block, shared>>>(device_in, device_out, n, radius);
      check(hipGetLastError());
      std::vector<double> want(n);
      for (int i = 0; i < n; ++i)
        for (int j = -radius; j <= radius; ++j)
          if (i + j >= 0 && i + j < n) want[i] += double(in[i + j]) / (1 + std::abs(j));
      test.close("out", to_host(device_out, n), want, 1e-5);
    }
  check(hipFree(device_in));
  check(hipFree(device_out));
  return test.finish();
}
