// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The simplest kernel there is: c = a + b, with a last block that is only partly used.

#include "check.h"

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main() {
  Test test("vector_add");
  hipDeviceProp_t properties;
  check(hipGetDeviceProperties(&properties, 0));
  test.expect(properties.maxThreadsPerBlock >= 256, "the device takes no blocks of 256 threads");

  const int n = 100003;  // a prime: no block size divides it
  Random random(1);
  std::vector<float> a = random.values(n, -1.0f, 1.0f);
  std::vector<float> b = random.values(n, -1.0f, 1.0f);
  std::vector<float> want(n);
  for (int i = 0; i < n; ++i) want[i] = a[i] + b[i];

  float* device_a = to_device(a);
  float* device_b = to_device(b);
  float* device_c = device_array<float>(n);
  vector_add<<<blocks_for(n, 256), 256>>>(device_a, device_b, device_c, n);
  check(hipGetLastError());
  check(hipDeviceSynchronize());

  test.equal("c", to_host(device_c, n), want);
  check(hipFree(device_a));
  check(hipFree(device_b));
  check(hipFree(device_c));
  return test.finish();
}
