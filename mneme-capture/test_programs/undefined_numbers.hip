// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic that C++ leaves undefined and a GPU does not: divisions by zero and beyond the largest number, shifts by
// more bits than there are. What comes out is for a replay to say, at each level and with arguments as constants.
#include <climits>

#include "../../tests/programs/check.h"

struct Parameters {
  int unused, divisor;
};

__global__ void divide(int* out, int a, Parameters b) {
  out[0] = a / b.divisor;
  out[1] = a % b.divisor;
  out[2] = static_cast<int>(static_cast<unsigned>(a) / static_cast<unsigned>(b.divisor));
}

__global__ void shift(int* out, int a, int by) {
  int i = threadIdx.x;
  out[2 * i] = a << (by + i);
  out[2 * i + 1] = a >> (by + i);
}

int main() {
  Test test("undefined_numbers");
  int* out = device_array<int>(128);
  check(hipMemset(out, 0x55, 128 * sizeof(int)));
  divide<<<1, 1>>>(out, 5, {0, 0});
  divide<<<1, 1>>>(out, INT_MIN, {0, -1});
  shift<<<1, 64>>>(out, -12345, 7);
  check(hipGetLastError());
  check(hipDeviceSynchronize());
  check(hipFree(out));
  return test.finish();
}
