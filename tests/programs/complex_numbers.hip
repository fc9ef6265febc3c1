// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Complex numbers in kernels: HIP's own (hipComplex, hipDoubleComplex) and the standard library's.

#include <hip/hip_complex.h>

#include <complex>

#include "check.h"

constexpr int kResults = 8;

__global__ void single_precision(const hipFloatComplex* x, const hipFloatComplex* y, hipFloatComplex* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  hipFloatComplex a = x[i], b = y[i];
  hipFloatComplex results[kResults] = {hipCaddf(a, b),    hipCsubf(a, b),
                                       hipCmulf(a, b),    hipCdivf(a, b),
                                       hipConjf(a),       make_hipFloatComplex(hipCabsf(a), hipCsqabsf(b)),
                                       hipCfmaf(a, b, a), make_hipFloatComplex(hipCrealf(b), hipCimagf(a))};
  for (int f = 0; f < kResults; ++f) out[f * n + i] = results[f];
}

__global__ void double_precision(const hipDoubleComplex* x, const hipDoubleComplex* y, hipDoubleComplex* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  hipDoubleComplex a = x[i], b = y[i];
  hipDoubleComplex results[kResults] = {hipCadd(a, b),    hipCsub(a, b),
                                        hipCmul(a, b),    hipCdiv(a, b),
                                        hipConj(a),       make_hipDoubleComplex(hipCabs(a), hipCsqabs(b)),
                                        hipCfma(a, b, a), make_hipDoubleComplex(hipCreal(b), hipCimag(a))};
  for (int f = 0; f < kResults; ++f) out[f * n + i] = results[f];
}

template <class T>
__global__ void standard(const std::complex<T>* x, const std::complex<T>* y, std::complex<T>* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  std::complex<T> a = x[i], b = y[i], sum = a;
  sum += b;
  std::complex<T> results[kResults] = {
      sum, a - b, a * b, a / b, std::conj(a), {std::norm(a), b.real()}, T(2) * a + b, a == b ? a : -a};
  for (int f = 0; f < kResults; ++f) out[f * n + i] = results[f];
}

template <class T>
static void reference(std::complex<T> a, std::complex<T> b, bool standard, std::complex<double> (&want)[kResults]) {
  std::complex<double> x = a, y = b;
  std::complex<double> own[kResults] = {
      x + y, x - y, x * y, x / y, std::conj(x), {std::abs(x), std::norm(y)}, x * y + x, {y.real(), x.imag()}};
  std::complex<double> library[kResults] = {
      x + y, x - y, x * y, x / y, std::conj(x), {std::norm(x), y.real()}, 2.0 * x + y, a == b ? x : -x};
  for (int f = 0; f < kResults; ++f) want[f] = standard ? library[f] : own[f];
}

template <class T, class Kernel, class Complex>
static void run(Test& test, Kernel kernel, const Complex*, bool standard, double tolerance) {
  const int n = 5000;
  Random random(11);
  std::vector<std::complex<T>> x(n), y(n);
  for (int i = 0; i < n; ++i) {
    x[i] = {random.between(T(-8), T(8)), random.between(T(-8), T(8))};
    y[i] = i % 5 == 0 ? x[i] : std::complex<T>(random.between(T(-8), T(8)), random.between(T(0.1), T(8)));
  }
  auto* device_x = reinterpret_cast<Complex*>(to_device(x));
  auto* device_y = reinterpret_cast<Complex*>(to_device(y));
  auto* out = device_array<Complex>(n * kResults);
  kernel<<<blocks_for(n, 64), 64>>>(device_x, device_y, out, n);
  check(hipGetLastError());
  auto got = to_host(reinterpret_cast<std::complex<T>*>(out), n * kResults);
  for (int i = 0; i < n; ++i) {
    std::complex<double> want[kResults];
    reference(x[i], y[i], standard, want);
    // The square of either is among the results; CUDA's squares what it has rounded as a root.
    double size = 1 + std::fmax(std::abs(std::complex<double>(x[i])), std::abs(std::complex<double>(y[i])));
    double scale = size * size;
    for (int f = 0; f < kResults; ++f) {
      double off = std::abs(std::complex<double>(got[f * n + i]) - want[f]);
      if (!(off <= tolerance * scale)) test.expect(false, "result " + std::to_string(f) + " of " + std::to_string(i));
    }
  }
  check(hipFree(device_x));
  check(hipFree(device_y));
  check(hipFree(out));
}

int main() {
  Test test("complex_numbers");
  run<float>(test, single_precision, static_cast<hipFloatComplex*>(nullptr), false, 1e-6);
  run<double>(test, double_precision, static_cast<hipDoubleComplex*>(nullptr), false, 1e-15);
  run<float>(test, standard<float>, static_cast<std::complex<float>*>(nullptr), true, 1e-6);
  run<double>(test, standard<double>, static_cast<std::complex<double>*>(nullptr), true, 1e-15);
  return test.finish();
}
