// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The application of this example: square roots, by Newton's method.

#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

constexpr int kRounds = 40;

__global__ void roots(const double* in, double* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double root = in[i];
  for (int round = 0; round < kRounds; ++round) root = 0.5 * (root + in[i] / root);
  out[i] = root;
}

__global__ void sum_neighbours(const double* in, double* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] + in[(i + 1) % n];
}

int main() {
  const int n = 1 << 16;
  std::vector<double> values(n), result(n);
  for (int i = 0; i < n; ++i) values[i] = double(i + 1) * (i + 1);
  double *in = nullptr, *out = nullptr;
  if (hipMalloc(&in, n * sizeof(double)) != hipSuccess || hipMalloc(&out, n * sizeof(double)) != hipSuccess) return 1;
  if (hipMemcpy(in, values.data(), n * sizeof(double), hipMemcpyHostToDevice) != hipSuccess) return 1;
  roots<<<n / 256, 256>>>(in, out, n);
  sum_neighbours<<<n / 256, 256>>>(out, in, n);
  if (hipMemcpy(result.data(), in, n * sizeof(double), hipMemcpyDeviceToHost) != hipSuccess) return 1;
  std::printf("%g %g\n", result[0], result[n / 2]);
  return 0;
}
