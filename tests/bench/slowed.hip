// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel that takes as long as its loop has rounds, and leaves the same however many that are: Newton's method for
// the roots of squares, which it finds exactly within a few rounds and then keeps. scripts/bench changes the number in
// its IR.

#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

__global__ void roots(const double* in, double* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double square = in[i], root = square;
  for (int round = 0; round < 10000; ++round) root = 0.5 * (root + square / root);
  out[i] = root;
}

int main() {
  const int n = 512;
  std::vector<double> squares(n), roots_found(n);
  for (int i = 0; i < n; ++i) squares[i] = double(i + 1) * (i + 1);
  double *in = nullptr, *out = nullptr;
  if (hipMalloc(&in, n * sizeof(double)) != hipSuccess || hipMalloc(&out, n * sizeof(double)) != hipSuccess) return 1;
  if (hipMemcpy(in, squares.data(), n * sizeof(double), hipMemcpyHostToDevice) != hipSuccess) return 1;
  roots<<<n / 64, 64>>>(in, out, n);
  if (hipMemcpy(roots_found.data(), out, n * sizeof(double), hipMemcpyDeviceToHost) != hipSuccess) return 1;
  for (int i = 0; i < n; ++i) {
    if (roots_found[i] != i + 1) return 1;
  }
  std::puts("slowed: ok");
  return 0;
}
