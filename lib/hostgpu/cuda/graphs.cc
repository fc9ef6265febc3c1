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

Error cudaGraphCreate(hipGraph_t* graph, unsigned flags) { return error(hipGraphCreate(graph, flags)); }
Error cudaGraphDestroy(hipGraph_t graph) { return error(hipGraphDestroy(graph)); }
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
Error cudaGraphAddMemcpyNode(Node* node, hipGraph_t graph, const Node* before, size_t count,
                             const hipMemcpy3DParms* box) {
  return error(hipGraphAddMemcpyNode(node, graph, before, count, box));
}
Error cudaGraphAddMemcpyNode1D(Node* node, hipGraph_t graph, const Node* before, size_t count, void* to,
                               const void* from, size_t size, int kind) {
  return error(hipGraphAddMemcpyNode1D(node, graph, before, count, to, from, size, kind_of(kind)));
}
Error cudaGraphAddMemcpyNodeToSymbol(Node* node, hipGraph_t graph, const Node* before, size_t count, const void* symbol,
                                     const void* from, size_t size, size_t offset, int kind) {
  return error(hipGraphAddMemcpyNodeToSymbol(node, graph, before, count, symbol, from, size, offset, kind_of(kind)));
}
Error cudaGraphAddMemcpyNodeFromSymbol(Node* node, hipGraph_t graph, const Node* before, size_t count, void* to,
                                       const void* symbol, size_t size, size_t offset, int kind) {
  return error(hipGraphAddMemcpyNodeFromSymbol(node, graph, before, count, to, symbol, size, offset, kind_of(kind)));
}
Error cudaGraphAddHostNode(Node* node, hipGraph_t graph, const Node* before, size_t count,
                           const hipHostNodeParams* parameters) {
  return error(hipGraphAddHostNode(node, graph, before, count, parameters));
}
Error cudaGraphAddEmptyNode(Node* node, hipGraph_t graph, const Node* before, size_t count) {
  return error(hipGraphAddEmptyNode(node, graph, before, count));
}
Error cudaGraphAddChildGraphNode(Node* node, hipGraph_t graph, const Node* before, size_t count, hipGraph_t child) {
  return error(hipGraphAddChildGraphNode(node, graph, before, count, child));
}
// Edges carry no data here.
Error cudaGraphGetNodes(hipGraph_t graph, Node* nodes, size_t* count) {
  return error(hipGraphGetNodes(graph, nodes, count));
}
Error cudaGraphGetRootNodes(hipGraph_t graph, Node* nodes, size_t* count) {
  return error(hipGraphGetRootNodes(graph, nodes, count));
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

Error cudaGraphExecHostNodeSetParams(hipGraphExec_t graph, Node node, const hipHostNodeParams* parameters) {
  return error(hipGraphExecHostNodeSetParams(graph, node, parameters));
}

Error cudaGraphInstantiate(hipGraphExec_t* made, hipGraph_t graph, unsigned long long flags) {
  return error(hipGraphInstantiateWithFlags(made, graph, flags));
}
Error cudaGraphInstantiateWithFlags(hipGraphExec_t* made, hipGraph_t graph, unsigned long long flags) {
  return error(hipGraphInstantiateWithFlags(made, graph, flags));
}
Error cudaGraphExecUpdate(hipGraphExec_t made, hipGraph_t graph, UpdateResult* result) {
  hipGraphExecUpdateResult how{};
  Node node = nullptr;
  hipError_t status = hipGraphExecUpdate(made, graph, &node, &how);
  if (result) *result = {static_cast<int>(how), node, nullptr};
  return error(status);
}
Error cudaGraphLaunch(hipGraphExec_t graph, hipStream_t stream) {
  return error(hipGraphLaunch(graph, stream_of(stream)));
}
Error cudaGraphUpload(hipGraphExec_t graph, hipStream_t stream) {
  return mneme_hostgpu_upload_graph(graph, stream_of(stream));
}
Error cudaGraphUpload_ptsz(hipGraphExec_t graph, hipStream_t stream) {
  return mneme_hostgpu_upload_graph(graph, own_stream(stream));
}
Error cudaGraphExecDestroy(hipGraphExec_t graph) { return error(hipGraphExecDestroy(graph)); }

}  // extern "C"
