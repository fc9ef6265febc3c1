// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Solves (4 + 1) u - (neighbours of u) = b on a square grid by conjugate gradients: four kernels, some two hundred
// launches, the host deciding between them.

#include "check.h"

constexpr int kSide = 96;
constexpr int kCount = kSide * kSide;
constexpr int kBlock = 128;
constexpr int kBlocks = (kCount + kBlock - 1) / kBlock;

__host__ __device__ inline double apply_at(const double* u, int i) {
  int x = i % kSide, y = i / kSide;
  double result = 5 * u[i];
  if (x > 0) result -= u[i - 1];
  if (x < kSide - 1) result -= u[i + 1];
  if (y > 0) result -= u[i - kSide];
  if (y < kSide - 1) result -= u[i + kSide];
  return result;
}

__global__ void apply(const double* u, double* out) {
  int i = blockIdx.x * kBlock + threadIdx.x;
  if (i < kCount) out[i] = apply_at(u, i);
}

// y += a * x
__global__ void axpy(double a, const double* x, double* y) {
  int i = blockIdx.x * kBlock + threadIdx.x;
  if (i < kCount) y[i] += a * x[i];
}

// y = x + b * y
__global__ void xpby(const double* x, double b, double* y) {
  int i = blockIdx.x * kBlock + threadIdx.x;
  if (i < kCount) y[i] = x[i] + b * y[i];
}

// One partial sum a block; the host adds them, always in the same order.
__global__ void dot(const double* x, const double* y, double* partial) {
  __shared__ double sum[kBlock];
  int i = blockIdx.x * kBlock + threadIdx.x;
  sum[threadIdx.x] = i < kCount ? x[i] * y[i] : 0;
  for (int stride = kBlock / 2; stride > 0; stride /= 2) {
    __syncthreads();
    if (threadIdx.x < stride) sum[threadIdx.x] += sum[threadIdx.x + stride];
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = sum[0];
}

static double dot_product(const double* x, const double* y, double* partial) {
  dot<<<kBlocks, kBlock>>>(x, y, partial);
  check(hipGetLastError());
  double sum = 0;
  for (double value : to_host(partial, kBlocks)) sum += value;
  return sum;
}

int main() {
  Test test("conjugate_gradient");
  std::vector<double> solution = Random(1).values(kCount, 1.0, 2.0);
  std::vector<double> b(kCount);
  for (int i = 0; i < kCount; ++i) b[i] = apply_at(solution.data(), i);

  double* u = to_device(std::vector<double>(kCount, 0.0));
  double* r = to_device(b);  // the residual of u = 0
  double* p = to_device(b);
  double* q = device_array<double>(kCount);
  double* partial = device_array<double>(kBlocks);
  double rr = dot_product(r, r, partial);
  const double enough = 1e-20 * rr;
  int steps = 0;
  for (; rr > enough && steps < 200; ++steps) {
    apply<<<kBlocks, kBlock>>>(p, q);
    check(hipGetLastError());
    double a = rr / dot_product(p, q, partial);
    axpy<<<kBlocks, kBlock>>>(a, p, u);
    axpy<<<kBlocks, kBlock>>>(-a, q, r);
    check(hipGetLastError());
    double next = dot_product(r, r, partial);
    xpby<<<kBlocks, kBlock>>>(r, next / rr, p);
    check(hipGetLastError());
    rr = next;
  }
  test.expect(steps > 10 && steps < 200, "did not converge");
  test.close("u", to_host(u, kCount), solution, 1e-8);
  for (double* memory : {u, r, p, q, partial}) check(hipFree(memory));
  return test.finish();
}
