// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is in a graph, as programs ask for it.
#include "hostgpu/cuda/cuda.h"

using namespace mneme::hostgpu::cuda;

using Node = hipGraphNode_t;

extern "C" {

Error cudaGraphKernelNodeGetParams(Node node, KernelNode* parameters) {
  hipKernelNodeParams hips{};
  hipError_t status = hipGraphKernelNodeGetParams(node, parameters ? &hips : nullptr);
  if (status != hipSuccess) return error(status);
  *parameters = {hips.func,           as_cuda(hips.gridDim), as_cuda(hips.blockDim),
                 hips.sharedMemBytes, hips.kernelParams,     hips.extra};
  return 0;
}
Error cudaGraphMemsetNodeGetParams(Node node, FillParameters* parameters) {
  hipMemsetParams hips{};
  hipError_t status = hipGraphMemsetNodeGetParams(node, parameters ? &hips : nullptr);
  if (status != hipSuccess) return error(status);
  *parameters = {hips.dst, hips.pitch, hips.value, hips.elementSize, hips.width, hips.height};
  return 0;
}

}  // extern "C"
