// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pointers to device functions: in a table that the host reads, in __constant__ memory that it fills, as arguments, in
// structures, written by another kernel, null, compared, to functions of several types, templates and lambdas.

#include "check.h"

using Unary = int (*)(int);
using Binary = int (*)(int, int);

__device__ int increment(int x) { return x + 1; }
__device__ int square(int x) { return x * x; }
template <int N>
__device__ int times(int x) {
  return x * N;
}
__device__ int add(int a, int b) { return a + b; }
__device__ int subtract(int a, int b) { return a - b; }

__device__ Unary the_square = square;  // only the host reads it
__device__ Unary table[] = {increment, square, times<5>, nullptr};
__constant__ Binary chosen;
struct Operation {
  Binary combine;
  int scale;
};
__device__ Operation operations[2] = {{add, 3}, {subtract, 2}};

struct Apply {
  Unary first, second;
  __device__ int operator()(int x) const { return second(first(x)); }
};

__global__ void apply(Unary function, const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = function(in[i]);
}

__global__ void choose(Unary* functions, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) functions[i] = table[i % 4];
  if (i < n && i % 8 == 7) functions[i] = [](int x) { return -x; };
}

__global__ void call(const Unary* functions, const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Unary function = functions[i];
  int result = function ? function(in[i]) : 1000000;
  if (function == square) result += 500000;
  const Operation& operation = operations[i & 1];
  out[i] = chosen(result, operation.combine(in[i], operation.scale));
}

__global__ void compose(Apply both, const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = both(in[i]);
}

__device__ Binary the_subtract = subtract;

int main() {
  Test test("function_pointers");
  const int n = 1000;
  std::vector<int> values = Random(1).values(n, -1000, 1000), want(n);
  int* in = to_device(values);
  int* out = device_array<int>(n);
  Unary* functions = device_array<Unary>(n);

  Unary square_on_device, first[3];
  check(hipMemcpyFromSymbol(&square_on_device, HIP_SYMBOL(the_square), sizeof square_on_device));
  apply<<<blocks_for(n, 64), 64>>>(square_on_device, in, out, n);
  check(hipGetLastError());
  for (int i = 0; i < n; ++i) want[i] = values[i] * values[i];
  test.equal("applied", to_host(out, n), want);

  check(hipMemcpyFromSymbol(first, HIP_SYMBOL(table), sizeof first));
  test.expect(first[1] == square_on_device, "one function has two addresses");
  test.expect(first[0] != first[2] && first[0] != nullptr, "two functions have one address");
  compose<<<blocks_for(n, 64), 64>>>(Apply{first[0], first[2]}, in, out, n);
  for (int i = 0; i < n; ++i) want[i] = (values[i] + 1) * 5;
  test.equal("composed", to_host(out, n), want);

  Binary subtract_on_device;
  check(hipMemcpyFromSymbol(&subtract_on_device, HIP_SYMBOL(the_subtract), sizeof subtract_on_device));
  check(hipMemcpyToSymbol(HIP_SYMBOL(chosen), &subtract_on_device, sizeof subtract_on_device));
  choose<<<blocks_for(n, 64), 64>>>(functions, n);
  check(hipGetLastError());
  call<<<blocks_for(n, 64), 64>>>(functions, in, out, n);
  check(hipGetLastError());
  for (int i = 0; i < n; ++i) {
    int x = values[i];
    const int results[] = {x + 1, x * x + 500000, x * 5, i % 8 == 7 ? -x : 1000000};
    want[i] = results[i % 4] - (i & 1 ? x - 2 : x + 3);
  }
  test.equal("called", to_host(out, n), want);
  check(hipFree(in));
  check(hipFree(out));
  check(hipFree(functions));
  return test.finish();
}
