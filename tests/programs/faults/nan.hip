// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that make NaNs and infinities, and such that only meet them: nan CASE. The comment FOUND marks the line.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstring>

constexpr int kThreads = 32;

// x[i] is i, but x[7] is an infinity, and x[8] a NaN.
__global__ void divided(float* x) {
  const float value = x[threadIdx.x];
  if (value < 5) x[threadIdx.x] = 1 / value;  // FOUND divided
}
__global__ void invalid(float* x) {
  const float zero = x[0];
  x[kThreads + threadIdx.x] = (zero * x[1]) / zero;  // FOUND invalid
}
__global__ void logarithm(float* x) {
  if (threadIdx.x < 5) x[threadIdx.x] = logf(x[threadIdx.x] - 3.5f);  // FOUND logarithm
}
__global__ void root(double* x) {
  if (threadIdx.x < 5) x[threadIdx.x] = sqrt(static_cast<double>(threadIdx.x) - 1.5);  // FOUND root
}
__global__ void overflow(float* x) {
  x[threadIdx.x] = expf(100 * static_cast<float>(threadIdx.x & 3));  // FOUND overflow
}
__global__ void rounded(float* x) {
  x[threadIdx.x] = static_cast<float>(1e38 * (threadIdx.x + 1));  // FOUND rounded
}

// What is no finding: numbers that come from elsewhere, constants, comparisons, and functions that are right.
__global__ void silent(float* x) {
  const float value = x[threadIdx.x];
  float most = -INFINITY;
  for (int i = 0; i < kThreads; ++i) most = fmaxf(most, x[i]);
  const float small = fminf(value, 20);
  x[threadIdx.x] = most + value * 2 + expf(-small) + (value > most ? value : logf(2 + fabsf(small)));
}

bool failed(hipError_t error) { return error != hipSuccess; }

int main(int argc, char** argv) {
  float x[2 * kThreads];
  for (int i = 0; i < 2 * kThreads; ++i) x[i] = static_cast<float>(i);
  x[7] = INFINITY;
  x[8] = NAN;
  float* d;
  if (argc < 2 || failed(hipMalloc(reinterpret_cast<void**>(&d), sizeof x)) ||
      failed(hipMemcpy(d, x, sizeof x, hipMemcpyHostToDevice))) {
    return 1;
  }
  const auto is = [&](const char* name) { return std::strcmp(argv[1], name) == 0; };
  if (is("divided")) divided<<<1, kThreads>>>(d);
  if (is("invalid")) invalid<<<1, kThreads>>>(d);
  if (is("logarithm")) logarithm<<<1, kThreads>>>(d);
  if (is("root")) root<<<1, kThreads>>>(reinterpret_cast<double*>(d));
  if (is("overflow")) overflow<<<1, kThreads>>>(d);
  if (is("rounded")) rounded<<<1, kThreads>>>(d);
  if (is("silent")) silent<<<1, kThreads>>>(d);
  return failed(hipDeviceSynchronize());
}
