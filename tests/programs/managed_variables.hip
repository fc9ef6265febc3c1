// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables that host and kernels use by the same name, with nothing copied between. (Clang has them for HIP only.)

#include "check.h"

__managed__ int steps = 100;
__managed__ float weights[4] = {0.5f, 1.5f, 2.5f, 3.5f};

__global__ void scale(float* values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = values[i] * weights[i % 4] + static_cast<float>(steps);
}

__global__ void count() {
  ++steps;
  for (float& weight : weights) weight += 1;
}

int main() {
  Test test("managed_variables");
  const int n = 1000;
  std::vector<float> want(n, 1);
  float w[4] = {0.5f, 1.5f, 2.5f, 3.5f};
  int turns = 100;
  float* values = to_device(want);
  for (int round = 0; round < 3; ++round) {
    scale<<<blocks_for(n, 128), 128>>>(values, n);
    count<<<1, 1>>>();
    check(hipGetLastError());
    check(hipDeviceSynchronize());
    for (int i = 0; i < n; ++i) want[i] = want[i] * w[i % 4] + static_cast<float>(turns);
    for (float& weight : w) weight += 1;
    test.equal("steps", steps, ++turns);
    steps = turns += 10;  // the host changes some between launches
    weights[round] = w[round] = 0.25f;
  }
  test.close("values", to_host(values, n), want, 1e-5);
  test.close("weights", std::vector<float>(weights, weights + 4), std::vector<float>(w, w + 4), 1e-6);
  check(hipFree(values));
  return test.finish();
}
