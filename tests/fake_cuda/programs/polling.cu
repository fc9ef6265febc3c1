// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel that waits for a word of host memory which the application writes after the launch, in a stream of its own
// and in the default one.
#include <initializer_list>

#include "cuda.h"

__global__ void waits(volatile int* go, int* data) {
  while (*go == 0) {
  }
  data[index()] += *go;
}

int main() {
  void *go = nullptr, *data = nullptr;
  int seen[64] = {};
  cudaStream_t own = nullptr;
  CHECK(cudaMallocHost(&go, sizeof(int)) == 0 && cudaMalloc(&data, sizeof seen) == 0);
  CHECK(cudaMemset(data, 0, sizeof seen) == 0 && cudaStreamCreate(&own) == 0 && cudaDeviceSynchronize() == 0);
  auto* word = static_cast<volatile int*>(go);
  for (cudaStream_t stream : {own, cudaStream_t{}, own}) {
    *word = 0;
    void* arguments[] = {&go, &data};
    CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(waits), 1, 64, arguments, 0, stream) == 0);
    *word = 7;
    CHECK(cudaGetLastError() == 0 && cudaDeviceSynchronize() == 0);
  }
  CHECK(cudaMemcpy(seen, data, sizeof seen, cudaMemcpyDeviceToHost) == 0);
  for (int value : seen) CHECK(value == 21);
  CHECK(cudaFree(data) == 0 && cudaFreeHost(go) == 0);
  std::puts("polling: ok");
}
