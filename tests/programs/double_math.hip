// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mathematical functions that kernels use most, in double and in single precision, against the host's library.

#include "check.h"

constexpr int kFunctions = 14;
const char* const kNames[kFunctions] = {"sin",  "cos", "tan",  "exp",   "log", "pow",   "sqrt",
                                        "tanh", "erf", "cbrt", "atan2", "fma", "rsqrt", "hypot"};

// results[f * n + i] is function f of x[i], or of x[i] and y[i].
__global__ void evaluate(const double* x, const double* y, double* results, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double a = x[i], b = y[i];
  double values[kFunctions] = {sin(a),  cos(a), tan(a),  exp(a),      log(a),       pow(a, b), sqrt(a),
                               tanh(b), erf(b), cbrt(b), atan2(b, a), fma(a, b, a), rsqrt(a),  hypot(a, b)};
  for (int f = 0; f < kFunctions; ++f) results[f * n + i] = values[f];
}

__global__ void evaluate(const float* x, const float* y, float* results, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float a = x[i], b = y[i];
  float values[kFunctions] = {sinf(a),  cosf(a), tanf(a),  expf(a),      logf(a),       powf(a, b), sqrtf(a),
                              tanhf(b), erff(b), cbrtf(b), atan2f(b, a), fmaf(a, b, a), rsqrtf(a),  hypotf(a, b)};
  for (int f = 0; f < kFunctions; ++f) results[f * n + i] = values[f];
}

static void reference(double a, double b, double (&values)[kFunctions]) {
  double all[kFunctions] = {std::sin(a),      std::cos(a),       std::tan(a),      std::exp(a),     std::log(a),
                            std::pow(a, b),   std::sqrt(a),      std::tanh(b),     std::erf(b),     std::cbrt(b),
                            std::atan2(b, a), std::fma(a, b, a), 1 / std::sqrt(a), std::hypot(a, b)};
  for (int f = 0; f < kFunctions; ++f) values[f] = all[f];
}

template <class T>
void run(Test& test, int n, double tolerance) {
  Random random(1);
  std::vector<T> x = random.values(n, T(0.1), T(4));
  std::vector<T> y = random.values(n, T(-3), T(3));
  T* device_x = to_device(x);
  T* device_y = to_device(y);
  T* device_results = device_array<T>(n * kFunctions);
  evaluate<<<blocks_for(n, 96), 96>>>(device_x, device_y, device_results, n);
  check(hipGetLastError());

  std::vector<T> results = to_host(device_results, n * kFunctions);
  std::vector<double> want(results.size());
  for (int i = 0; i < n; ++i) {
    double values[kFunctions];
    reference(x[i], y[i], values);
    for (int f = 0; f < kFunctions; ++f) want[f * n + i] = values[f];
  }
  for (int f = 0; f < kFunctions; ++f)
    test.close(kNames[f], std::vector<T>(results.begin() + f * n, results.begin() + (f + 1) * n),
               std::vector<double>(want.begin() + f * n, want.begin() + (f + 1) * n), tolerance);
  check(hipFree(device_x));
  check(hipFree(device_y));
  check(hipFree(device_results));
}

int main() {
  Test test("double_math");
  run<double>(test, 3000, 1e-13);
  run<float>(test, 3001, 1e-5);
  return test.finish();
}
