// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cstdio>
int main() {
  float *a, *b, *c, one = 1, zero = 0, first = 0;
  constexpr int n = 256;
  cublasHandle_t handle;
  if (cudaMalloc(&a, n * n * 4) || cudaMalloc(&b, n * n * 4) || cudaMalloc(&c, n * n * 4)) return 1;
  cudaMemset(a, 0x3f, n * n * 4), cudaMemset(b, 0x3f, n * n * 4);
  if (cublasCreate(&handle) ||
      cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n)) return 2;
  cudaMemcpy(&first, c, 4, cudaMemcpyDeviceToHost);
  std::printf("gemm %g\n", first);
}
