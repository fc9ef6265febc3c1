// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments and shared memory of types that begin at multiples of more than 16 bytes.
#include "../../tests/programs/check.h"

constexpr int kThreads = 64;

struct alignas(256) Line {
  float values[64];
};
struct Several {
  int first;
  double4 vector;
};

__global__ void take(double* out, double4 vector, char between, Line line, Several several) {
  int i = threadIdx.x;
  out[i] = vector.x + vector.w * i + between + line.values[i] + several.first + several.vector.z;
}

// Behind shared memory that ends anywhere.
__global__ void turn(double* out) {
  extern __shared__ double4 dynamic[];
  __shared__ char few[3];
  int i = threadIdx.x;
  if (i < 3) few[i] = static_cast<char>(i + 1);
  dynamic[i] = make_double4(i, i + 1, i + 2, i + 3);
  __syncthreads();
  double4 other = dynamic[kThreads - 1 - i];
  out[i] = other.x * other.w + few[i % 3];
}

int main() {
  Test test("alignments");
  double* out = device_array<double>(kThreads);
  Line line;
  for (int i = 0; i < 64; ++i) line.values[i] = 0.5f * i;
  take<<<1, kThreads>>>(out, make_double4(1, 2, 3, 4), 'c', line, {7, make_double4(5, 6, 7, 8)});
  check(hipGetLastError());
  std::vector<double> taken = to_host(out, kThreads);
  for (int i = 0; i < kThreads; ++i) test.expect(taken[i] == 1 + 4 * i + 'c' + 0.5 * i + 7 + 7, "an argument is wrong");
  turn<<<1, kThreads, kThreads * sizeof(double4)>>>(out);
  check(hipGetLastError());
  std::vector<double> turned = to_host(out, kThreads);
  for (int i = 0; i < kThreads; ++i) {
    int other = kThreads - 1 - i;
    test.expect(turned[i] == other * (other + 3) + i % 3 + 1, "shared memory is wrong");
  }
  check(hipFree(out));
  return test.finish();
}
