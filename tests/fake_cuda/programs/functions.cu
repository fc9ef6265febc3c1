// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Addresses of functions in memory: one kernel puts them there, another calls what they lead to.
#include "cuda.h"

using Function = int (*)(int);

__device__ int increment(int x) { return x + 1; }
__device__ int square(int x) { return x * x; }
__device__ int negate(int x) { return -x; }
__device__ Function table[] = {increment, square};

__global__ void choose(Function* functions) {
  unsigned i = index();
  functions[i] = i % 3 == 2 ? negate : table[i % 3];
}

__global__ void call(const Function* functions, int* data) { data[index()] = functions[index()](data[index()]); }

int main() {
  constexpr int kThreads = 96;
  int host[kThreads];
  void *functions = nullptr, *data = nullptr;
  CHECK(cudaMalloc(&functions, kThreads * sizeof(Function)) == 0);
  CHECK(cudaMalloc(&data, sizeof host) == 0);
  for (int i = 0; i < kThreads; ++i) host[i] = 3 * i + 5;
  CHECK(cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice) == 0);
  choose<<<3, 32>>>(static_cast<Function*>(functions));
  call<<<3, 32>>>(static_cast<const Function*>(functions), static_cast<int*>(data));
  CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost) == 0);
  for (int i = 0; i < kThreads; ++i) {
    int x = 3 * i + 5, results[] = {x + 1, x * x, -x};
    CHECK(host[i] == results[i % 3]);
  }
  CHECK(cudaFree(functions) == 0 && cudaFree(data) == 0);
  std::puts("functions: ok");
}
