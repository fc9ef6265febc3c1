// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel that allocates memory by itself.
#include "cuda.h"

__device__ extern "C" void* malloc(size_t);
__device__ extern "C" void free(void*);

__global__ void squares(int* out) {
  auto* room = static_cast<int*>(malloc(sizeof(int)));
  *room = static_cast<int>(index() * index());
  out[index()] = *room + 1;
  free(room);
}

int main() {
  void* out = nullptr;
  int host[8];
  CHECK(cudaMalloc(&out, sizeof host) == 0);
  squares<<<1, 8>>>(static_cast<int*>(out));
  CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost) == 0);
  for (int i = 0; i < 8; ++i) CHECK(host[i] == i * i + 1);
  CHECK(cudaFree(out) == 0);
  std::puts("heap: ok");
}
