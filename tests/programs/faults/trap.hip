// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel that checks its data and traps: the first launch finds nothing wrong, the second does.

#include "../check.h"

__global__ void invert(float* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (data[i] == 0) __builtin_trap();
  data[i] = 1 / data[i];
}

int main() {
  Test test("trap");
  const int n = 10000;
  std::vector<float> values = Random(1).values(n, 1.0f, 4.0f);
  float* data = to_device(values);
  invert<<<blocks_for(n, 64), 64>>>(data, n);
  check(hipGetLastError());
  check(hipDeviceSynchronize());

  values[4321] = 0;
  check(hipMemcpy(data, values.data(), n * sizeof(float), hipMemcpyHostToDevice));
  invert<<<blocks_for(n, 64), 64>>>(data, n);
  check(hipGetLastError());
  check(hipDeviceSynchronize());
  test.expect(false, "the kernel did not trap");
  return test.finish();
}
