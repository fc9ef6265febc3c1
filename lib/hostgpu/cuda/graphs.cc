// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/cuda/cuda.h"
#include "hostgpu/extensions.h"

namespace mneme::hostgpu::cuda {
namespace {

hipKernelNodeParams as_hip(const KernelNode& ours) {
  hipKernelNodeParams hips{};
  hips.func = const_cast<void*>(ours.function);
  hips.gridDim = cuda::as_hip(ours.grid);
  hips.blockDim = cuda::as_hip(ours.block);
  hips.sharedMemBytes = ours.shared;
  hips.kernelParams = ours.arguments;
  hips.extra = ours.extra;
  return hips;
}

hipMemsetParams as_hip(const FillParameters& ours) {
  hipMemsetParams hips{};
  hips.dst = ours.to;
  hips.pitch = ours.pitch;
  hips.value = ours.value;
  hips.elementSize = ours.element;
  hips.width = ours.width;
  hips.height = ours.height;
  return hips;
}

// HIP counts from one, and tells copies apart that CUDA does not.
int type_of(hipGraphNodeType hips) {
  switch (hips) {
    case hipGraphNodeTypeMemcpy1D:
    case hipGraphNodeTypeMemcpyFromSymbol:
    case hipGraphNodeTypeMemcpyToSymbol:
      return hipGraphNodeTypeMemcpy - hipGraphNodeTypeKernel;
    default:
      return hips - hipGraphNodeTypeKernel;
  }
}

}  // namespace
}  // namespace mneme::hostgpu::cuda

using namespace mneme::hostgpu::cuda;

using Node = hipGraphNode_t;

extern "C" {

Error cudaGraphClone(hipGraph_t* clone, hipGraph_t graph) { return error(hipGraphClone(clone, graph)); }

Error cudaGraphAddKernelNode(Node* node, hipGraph_t graph, const Node* before, size_t count,
                             const KernelNode* parameters) {
  if (!parameters) return kInvalidValue;
  hipKernelNodeParams hips = as_hip(*parameters);
  return error(hipGraphAddKernelNode(node, graph, before, count, &hips));
}
Error cudaGraphAddMemsetNode(Node* node, hipGraph_t graph, const Node* before, size_t count,
                             const FillParameters* parameters) {
  if (!parameters) return kInvalidValue;
  hipMemsetParams hips = as_hip(*parameters);
  return error(hipGraphAddMemsetNode(node, graph, before, count, &hips));
}
Error cudaGraphNodeGetType(Node node, int* type) {
  hipGraphNodeType hips = hipGraphNodeTypeEmpty;
  hipError_t status = hipGraphNodeGetType(node, type ? &hips : nullptr);
  if (status != hipSuccess) return error(status);
  const int memory = mneme_hostgpu_memory_node(node, nullptr, nullptr);
  *type = memory ? memory : type_of(hips);
  return error(status);
}
Error cudaGraphKernelNodeSetParams(Node node, const KernelNode* parameters) {
  if (!parameters) return kInvalidValue;
  hipKernelNodeParams hips = as_hip(*parameters);
  return error(hipGraphKernelNodeSetParams(node, &hips));
}
Error cudaGraphExecKernelNodeSetParams(hipGraphExec_t graph, Node node, const KernelNode* parameters) {
  if (!parameters) return kInvalidValue;
  hipKernelNodeParams hips = as_hip(*parameters);
  return error(hipGraphExecKernelNodeSetParams(graph, node, &hips));
}

Error cudaGraphMemsetNodeSetParams(Node node, const FillParameters* parameters) {
  if (!parameters) return kInvalidValue;
  hipMemsetParams hips = as_hip(*parameters);
  return error(hipGraphMemsetNodeSetParams(node, &hips));
}
Error cudaGraphExecMemsetNodeSetParams(hipGraphExec_t graph, Node node, const FillParameters* parameters) {
  if (!parameters) return kInvalidValue;
  hipMemsetParams hips = as_hip(*parameters);
  return error(hipGraphExecMemsetNodeSetParams(graph, node, &hips));
}

Error cudaGraphExecUpdate(hipGraphExec_t made, hipGraph_t graph, UpdateResult* result) {
  hipGraphExecUpdateResult how{};
  Node node = nullptr;
  hipError_t status = hipGraphExecUpdate(made, graph, &node, &how);
  if (result) *result = {static_cast<int>(how), node, nullptr};
  return error(status);
}
Error cudaGraphUpload(hipGraphExec_t graph, hipStream_t stream) {
  return mneme_hostgpu_upload_graph(graph, stream_of(stream));
}

}  // extern "C"
