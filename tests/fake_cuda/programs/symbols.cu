// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that start-up code registered, launched by the driver: by the function that the runtime has for one, by one
// of another name in the module that is behind it, and by that of the first name again. And nothing, which is refused.
#include "driver.h"

extern "C" {
__global__ void add(int* data, int by) { data[index()] += by; }
__global__ void scale(int* data, int by) { data[index()] *= by; }
__global__ void negate(int* data, int) { data[index()] = -data[index()]; }
}

int main() {
  constexpr int kThreads = 32;
  int *data = nullptr, host[kThreads], by = 3;
  CHECK(cudaMalloc(reinterpret_cast<void**>(&data), sizeof host) == 0);
  for (int i = 0; i < kThreads; ++i) host[i] = i;
  CHECK(cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice) == 0);
  void* arguments[] = {&data, &by};
  auto launch = [&](CUfunction function) {
    return cuLaunchKernel(function, 1, 1, 1, kThreads, 1, 1, 0, nullptr, arguments, nullptr);
  };
  CUfunction first = nullptr, second = nullptr, again = nullptr, other = nullptr;
  CUmodule module = nullptr;
  CHECK(cudaGetFuncBySymbol(&first, reinterpret_cast<const void*>(add)) == 0 && launch(first) == 0);
  CHECK(cuFuncGetModule(&module, first) == 0);
  CHECK(cuModuleGetFunction(&second, module, "scale") == 0 && launch(second) == 0);
  by = 4;
  CHECK(cuModuleGetFunction(&again, module, "add") == 0 && launch(first) == 0 && again == first);
  CHECK(cudaGetFuncBySymbol(&other, reinterpret_cast<const void*>(negate)) == 0 && launch(other) == 0);
  CHECK(launch(nullptr) != 0);
  CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost) == 0);
  for (int i = 0; i < kThreads; ++i) CHECK(host[i] == -((i + 3) * 3 + 4));
  CHECK(cudaFree(data) == 0);
  std::puts("symbols: ok");
}
