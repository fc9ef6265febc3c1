// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One launch that sees MIB mebibytes (default 1350) of floats that hardly compress, so that its recording is large: the
// subject of scripts/bench, sections stage and memory.

#include "../programs/check.h"

__global__ void add(const float* a, const float* b, float* c, std::size_t n) {
  std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main(int argc, char** argv) {
  Test test("large_bundle");
  const std::size_t mebibytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1350;
  const std::size_t n = (mebibytes << 20) / (3 * sizeof(float));
  Random random(1);
  std::vector<float> a = random.values(n, -1.0f, 1.0f);
  std::vector<float> b = random.values(n, -1.0f, 1.0f);
  float* device_a = to_device(a);
  float* device_b = to_device(b);
  float* device_c = device_array<float>(n);
  add<<<blocks_for(n, 256), 256>>>(device_a, device_b, device_c, n);
  check(hipGetLastError());

  std::vector<float> c = to_host(device_c, n);
  for (std::size_t i = 0; i < n; ++i) test.expect(c[i] == a[i] + b[i], "a sum is wrong");
  check(hipFree(device_a));
  check(hipFree(device_b));
  check(hipFree(device_c));
  return test.finish();
}
