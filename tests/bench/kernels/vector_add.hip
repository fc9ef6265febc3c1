// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// c = a + b on SIZE floats (default 16 Mi: 64 MiB an array): pure streaming.

#include "../../programs/check.h"
#include "bench.h"

__global__ void vector_add(const float* a, const float* b, float* c, std::size_t n) {
  std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main(int argc, char** argv) {
  const auto [size, repeats] = parse_arguments(argc, argv, 16 << 20);
  const std::size_t n = size;
  std::vector<float> a(n), b(n);
  for (std::size_t i = 0; i < n; ++i) a[i] = value_at(i), b[i] = value_at(i + 1);
  float* device_a = to_device(a);
  float* device_b = to_device(b);
  float* device_c = device_array<float>(n);

  long long best = best_of(repeats, [&] {
    vector_add<<<blocks_for(n, 256), 256>>>(device_a, device_b, device_c, n);
    check(hipGetLastError());
    check(hipDeviceSynchronize());
  });

  std::vector<float> c = to_host(device_c, n);
  bool right = true;
  for (std::size_t i = 0; i < n; ++i) right &= c[i] == a[i] + b[i];
  check(hipFree(device_a));
  check(hipFree(device_b));
  check(hipFree(device_c));
  return report("vector_add", best, right);
}
