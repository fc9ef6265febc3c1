// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that all threads of a block go round equally often, with early returns, barriers and branches around them, in
// blocks of every kind of size. Numbers are small integers, so sums are exact in any order.

#include "check.h"

// Threads beyond the end have returned.
__global__ void columns(const float* a, const float* x, float* y, int rows, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = 0; k < rows; ++k) sum += a[k * n + i] * x[k];
  y[i] += sum;
}

__global__ void product(const double* a, const double* b, double* c, int rows, int inner, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows && column < n) {
    double sum = 0;
    for (int k = 0; k < inner; ++k) sum += a[row * inner + k] * b[k * n + column];
    c[row * n + column] = sum;
  }
}

// Some leave between the loops, and one loop stands in another, around a barrier.
__global__ void rounds(const unsigned* in, unsigned* out, int outer, int inner) {
  extern __shared__ unsigned shared[];
  unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t, n = blockDim.x;
  unsigned state = in[i], other = i;
  for (int r = 0; r < outer; ++r) {
    shared[t] = state;
    __syncthreads();
    unsigned neighbour = shared[(t + r + 1) % n];
    for (int k = 0; k < inner; ++k) {
      state = state * 1664525u + neighbour + k;
      if (state & 1) other ^= state >> 3;
      if (k == outer) break;
    }
    __syncthreads();
  }
  out[2 * i] = state;
  if (t % 3 == 1) return;
  for (int k = inner; k > 0; k -= 2) other = (other << 5) ^ (other >> 2) ^ state;
  out[2 * i + 1] = other;
}

// What is carried on changes places, and the number of iterations comes from memory.
__global__ void fibonacci(const int* count, unsigned long long* out) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long a = i, b = 1;
  for (int k = 0, n = *count; k < n; ++k) {
    unsigned long long next = a + b;
    a = b, b = next;
  }
  out[i] = a;
}

namespace {

std::vector<unsigned> expected_rounds(const std::vector<unsigned>& in, unsigned threads, int outer, int inner) {
  std::vector<unsigned> out(2 * in.size(), 77u);
  for (unsigned first = 0; first < in.size(); first += threads) {
    std::vector<unsigned> state(in.begin() + first, in.begin() + first + threads), other(threads);
    for (unsigned t = 0; t < threads; ++t) other[t] = first + t;
    for (int r = 0; r < outer; ++r) {
      std::vector<unsigned> shared = state;
      for (unsigned t = 0; t < threads; ++t) {
        for (int k = 0; k < inner; ++k) {
          state[t] = state[t] * 1664525u + shared[(t + r + 1) % threads] + k;
          if (state[t] & 1) other[t] ^= state[t] >> 3;
          if (k == outer) break;
        }
      }
    }
    for (unsigned t = 0; t < threads; ++t) {
      out[2 * (first + t)] = state[t];
      if (t % 3 == 1) continue;
      for (int k = inner; k > 0; k -= 2) other[t] = (other[t] << 5) ^ (other[t] >> 2) ^ state[t];
      out[2 * (first + t) + 1] = other[t];
    }
  }
  return out;
}

void test_rounds(Test& test, unsigned threads, int outer, int inner) {
  std::vector<unsigned> in(3 * threads);
  for (unsigned i = 0; i < in.size(); ++i) in[i] = i * 2654435761u;
  unsigned* device_in = to_device(in);
  unsigned* device_out = to_device(std::vector<unsigned>(2 * in.size(), 77u));
  rounds<<<3, threads, threads * sizeof(unsigned)>>>(device_in, device_out, outer, inner);
  check(hipGetLastError());
  test.equal("rounds", to_host(device_out, 2 * in.size()), expected_rounds(in, threads, outer, inner));
  check(hipFree(device_in));
  check(hipFree(device_out));
}

void test_columns(Test& test, int n, int rows, int threads) {
  std::vector<float> a(rows * n), x(rows), y(n, 3.0f);
  for (int i = 0; i < rows * n; ++i) a[i] = static_cast<float>(i % 13 - 6);
  for (int i = 0; i < rows; ++i) x[i] = static_cast<float>(i % 5 - 1);
  float *device_a = to_device(a), *device_x = to_device(x), *device_y = to_device(y);
  columns<<<blocks_for(n, threads), threads>>>(device_a, device_x, device_y, rows, n);
  check(hipGetLastError());
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < rows; ++k) y[i] += a[k * n + i] * x[k];
  }
  test.equal("columns", to_host(device_y, n), y);
  check(hipFree(device_a));
  check(hipFree(device_x));
  check(hipFree(device_y));
}

void test_product(Test& test, int rows, int inner, int n) {
  std::vector<double> a(rows * inner), b(inner * n), c(rows * n);
  for (int i = 0; i < rows * inner; ++i) a[i] = i % 7 - 3;
  for (int i = 0; i < inner * n; ++i) b[i] = i % 11 - 5;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < n; ++j) {
      for (int k = 0; k < inner; ++k) c[i * n + j] += a[i * inner + k] * b[k * n + j];
    }
  }
  double *device_a = to_device(a), *device_b = to_device(b), *device_c = to_device(std::vector<double>(rows * n, -1));
  product<<<dim3(blocks_for(n, 16), blocks_for(rows, 8)), dim3(16, 8)>>>(device_a, device_b, device_c, rows, inner, n);
  check(hipGetLastError());
  test.equal("product", to_host(device_c, rows * n), c);
  check(hipFree(device_a));
  check(hipFree(device_b));
  check(hipFree(device_c));
}

void test_fibonacci(Test& test, unsigned threads, int count) {
  int* device_count = to_device(std::vector<int>{count});
  auto* device_out = device_array<unsigned long long>(2 * threads);
  fibonacci<<<2, threads>>>(device_count, device_out);
  check(hipGetLastError());
  std::vector<unsigned long long> out(2 * threads);
  for (unsigned i = 0; i < out.size(); ++i) {
    unsigned long long a = i, b = 1;
    for (int k = 0; k < count; ++k) {
      unsigned long long next = a + b;
      a = b, b = next;
    }
    out[i] = a;
  }
  test.equal("fibonacci", to_host(device_out, out.size()), out);
  check(hipFree(device_count));
  check(hipFree(device_out));
}

}  // namespace

int main() {
  Test test("uniform_loops");
  for (unsigned threads : {1u, 7u, 8u, 33u, 256u}) {
    test_rounds(test, threads, 4, 40);
    test_columns(test, 500, 30, static_cast<int>(threads));
    test_fibonacci(test, threads, 60);
  }
  test_rounds(test, 64, 0, 5);
  test_rounds(test, 64, 3, 0);
  test_columns(test, 64, 0, 64);
  test_product(test, 37, 50, 45);
  test_fibonacci(test, 65, 0);
  return test.finish();
}
