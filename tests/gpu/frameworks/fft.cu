// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Its kernels come from a table of the driver's.
#include <cufft.h>
#include <cuda_runtime.h>
#include <cstdio>
int main() {
  cufftComplex* data;
  float first = 0;
  cufftHandle plan;
  if (cudaMalloc(&data, 1024 * sizeof *data)) return 1;
  cudaMemset(data, 0x3f, 1024 * sizeof *data);
  for (int round = 0; round < 2; ++round) {
    if (cufftPlan1d(&plan, 1024, CUFFT_C2C, 1) || cufftExecC2C(plan, data, data, CUFFT_FORWARD) ||
        cufftExecC2C(plan, data, data, CUFFT_INVERSE) || cufftDestroy(plan)) return 2;
  }
  cudaMemcpy(&first, data, 4, cudaMemcpyDeviceToHost);
  std::printf("transform %g\n", first);
}
