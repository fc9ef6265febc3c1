// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Managed memory, which host and kernels use by the same pointer.

#include "check.h"

__global__ void smooth(float* values, float* next, int* steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int left = i > 0 ? i - 1 : n - 1, right = i + 1 < n ? i + 1 : 0;
  next[i] = 0.25f * values[left] + 0.5f * values[i] + 0.25f * values[right];
  if (i == 0) ++*steps;
}

int main() {
  Test test("managed_memory");
  const int n = 40000;
  Random random(1);
  int* steps = nullptr;
  check(hipMallocManaged(&steps, sizeof(int)));
  *steps = 100;
  float* buffers[2];
  for (float*& buffer : buffers) {
    void* memory = nullptr;
    check(hipMallocManaged(&memory, n * sizeof(float), hipMemAttachGlobal));
    buffer = static_cast<float*>(memory);
  }
  std::vector<double> want(n), next(n);
  for (int i = 0; i < n; ++i) want[i] = buffers[0][i] = random.between(1.0f, 9.0f);

  for (int round = 0; round < 4; ++round) {
    smooth<<<blocks_for(n, 128), 128>>>(buffers[0], buffers[1], steps, n);
    check(hipGetLastError());
    check(hipDeviceSynchronize());
    std::swap(buffers[0], buffers[1]);
    for (int i = 0; i < n; ++i) next[i] = 0.25 * want[(i + n - 1) % n] + 0.5 * want[i] + 0.25 * want[(i + 1) % n];
    std::swap(want, next);
    buffers[0][round] += 1;  // the host changes one value between launches
    want[round] += 1;
  }
  test.equal("steps", *steps, 104);
  test.close("values", std::vector<float>(buffers[0], buffers[0] + n), want, 1e-5);
  for (float* buffer : buffers) check(hipFree(buffer));
  check(hipFree(steps));
  return test.finish();
}
