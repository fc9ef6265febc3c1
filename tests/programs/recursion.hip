// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recursion: with two branches, with a private array in every frame, of two functions in turn, deep, through a pointer.

#include "check.h"

__host__ __device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__host__ __device__ bool is_odd(int n);
__host__ __device__ bool is_even(int n) { return n == 0 || is_odd(n - 1); }
__host__ __device__ bool is_odd(int n) { return n != 0 && is_even(n - 1); }

__host__ __device__ int depth(int n, int* path) {
  int here[4] = {n, n + 1, n + 2, n + 3};
  path[n % 16] += here[n % 4];
  return n == 0 ? 0 : 1 + depth(n - 1, path);
}

// Sorts [first, last).
__host__ __device__ void sort(int* first, int* last) {
  if (last - first < 2) return;
  int pivot = first[(last - first) / 2];
  int *low = first, *high = last - 1;
  while (low <= high) {
    while (*low < pivot) ++low;
    while (*high > pivot) --high;
    if (low > high) break;
    int held = *low;
    *low++ = *high;
    *high-- = held;
  }
  sort(first, high + 1);
  sort(low, last);
}

using Descend = int (*)(int, void*);
__device__ int countdown(int n, void* self) {
  return n <= 0 ? threadIdx.x : 2 + reinterpret_cast<Descend>(self)(n - 1, self);
}

struct Result {
  int fibonacci, depth, path[16], even, down;
};

__global__ void recurse(Result* results, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Result& r = results[i];
  r.fibonacci = fibonacci(i % 12);
  for (int& p : r.path) p = 0;
  r.depth = depth(i % 150, r.path);
  r.even = is_even(i % 99);
  Descend descend = countdown;
  r.down = descend(i % 30, reinterpret_cast<void*>(descend));
}

__global__ void sort_rows(int* data, int row, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows) sort(data + i * row, data + (i + 1) * row);
}

int main() {
  Test test("recursion");
#ifdef __CUDA__  // by itself it has a kibibyte a thread for that
  check(cudaDeviceSetLimit(cudaLimitStackSize, 16 * 1024));
#endif
  const int n = 300, row = 60;
  Result* results = device_array<Result>(n);
  recurse<<<blocks_for(n, 64), 64>>>(results, n);
  check(hipGetLastError());
  std::vector<Result> got = to_host(results, n);
  for (int i = 0; i < n; ++i) {
    int path[16] = {};
    test.equal("depth", got[i].depth, depth(i % 150, path));
    test.equal("fibonacci", got[i].fibonacci, fibonacci(i % 12));
    test.equal("path", std::vector<int>(got[i].path, got[i].path + 16), std::vector<int>(path, path + 16));
    test.equal("even", got[i].even, static_cast<int>(is_even(i % 99)));
    test.equal("down", got[i].down, i % 30 * 2 + i % 64);
  }
  std::vector<int> data = Random(1).values(n * row, -500, 500), want = data;
  for (int i = 0; i < n; ++i) sort(want.data() + i * row, want.data() + (i + 1) * row);
  int* device_data = to_device(data);
  sort_rows<<<blocks_for(n, 64), 64>>>(device_data, row, n);
  test.equal("sorted", to_host(device_data, n * row), want);
  check(hipFree(results));
  check(hipFree(device_data));
  return test.finish();
}
