// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs, as far as their functions are no other's: parameters of kernels, copies and fills, and edges that carry data,
// which are refused.
#include <algorithm>

#include "hostgpu/cuda/driver/boxes.h"
#include "hostgpu/cuda/functions.h"
#include "hostgpu/cuda/versions.h"
#include "vendor/cuda/graphs.h"

namespace mneme::hostgpu::cuda::driver {
namespace {

hipKernelNodeParams as_hip(const DriverKernelNode& node) {
  hipKernelNodeParams hips{};
  hips.func = node.function ? node.function : node.kernel;
  hips.gridDim = cuda::as_hip(node.grid);
  hips.blockDim = cuda::as_hip(node.block);
  hips.sharedMemBytes = node.shared;
  hips.kernelParams = node.arguments;
  return hips;
}

// Packed arguments are for launches.
bool is_usable(const DriverKernelNode* node) { return node && !node->extra; }

// Before CUDA 12 the structure ends after what is first in it.
constexpr size_t kFirstNodeBytes = offsetof(DriverKernelNode, kernel);
DriverKernelNode as_now(const void* first) {
  DriverKernelNode node{};
  if (first) std::copy_n(static_cast<const std::byte*>(first), kFirstNodeBytes, reinterpret_cast<std::byte*>(&node));
  return node;
}

}  // namespace
}  // namespace mneme::hostgpu::cuda::driver

using namespace mneme::hostgpu::cuda::driver;
using mneme::hostgpu::cuda::as_cuda;
using mneme::hostgpu::cuda::EdgeData;
using mneme::hostgpu::cuda::FillParameters;
using mneme::hostgpu::cuda::kInvalidValue;
using mneme::hostgpu::cuda::kNotSupported;
using mneme::hostgpu::cuda::UpdateResult;
using mneme::vendor::cuda::AnyNode;
using mneme::vendor::cuda::kCopyNode;
using mneme::vendor::cuda::kKernelNode;

using Graph = hipGraph_t;
using Node = hipGraphNode_t;

extern "C" {

Result cuGraphAddKernelNode_v2(Node* node, Graph graph, const Node* before, size_t count,
                               const DriverKernelNode* kernel) {
  if (!is_usable(kernel)) return kInvalidValue;
  hipKernelNodeParams hips = as_hip(*kernel);
  return answer([&] { return hipGraphAddKernelNode(node, graph, before, count, &hips); });
}
Result cuGraphKernelNodeGetParams_v2(Node node, DriverKernelNode* kernel) {
  if (!kernel) return kInvalidValue;
  hipKernelNodeParams hips{};
  Result status = answer([&] { return hipGraphKernelNodeGetParams(node, &hips); });
  if (status == 0) {
    *kernel = {hips.func,
               as_cuda(hips.gridDim),
               as_cuda(hips.blockDim),
               hips.sharedMemBytes,
               hips.kernelParams,
               nullptr,
               nullptr,
               nullptr};
  }
  return status;
}
Result cuGraphKernelNodeSetParams_v2(Node node, const DriverKernelNode* kernel) {
  if (!is_usable(kernel)) return kInvalidValue;
  hipKernelNodeParams hips = as_hip(*kernel);
  return answer([&] { return hipGraphKernelNodeSetParams(node, &hips); });
}
Result cuGraphExecKernelNodeSetParams_v2(hipGraphExec_t made, Node node, const DriverKernelNode* kernel) {
  if (!is_usable(kernel)) return kInvalidValue;
  hipKernelNodeParams hips = as_hip(*kernel);
  return answer([&] { return hipGraphExecKernelNodeSetParams(made, node, &hips); });
}

// And as they were before CUDA 12.
Result cuGraphAddKernelNode(Node* node, Graph graph, const Node* before, size_t count, const void* kernel) {
  DriverKernelNode now = as_now(kernel);
  return cuGraphAddKernelNode_v2(node, graph, before, count, kernel ? &now : nullptr);
}
Result cuGraphKernelNodeGetParams(Node node, void* kernel) {
  DriverKernelNode now{};
  Result status = cuGraphKernelNodeGetParams_v2(node, kernel ? &now : nullptr);
  if (status == 0) std::copy_n(reinterpret_cast<std::byte*>(&now), kFirstNodeBytes, static_cast<std::byte*>(kernel));
  return status;
}
Result cuGraphKernelNodeSetParams(Node node, const void* kernel) {
  DriverKernelNode now = as_now(kernel);
  return cuGraphKernelNodeSetParams_v2(node, kernel ? &now : nullptr);
}
Result cuGraphExecKernelNodeSetParams(hipGraphExec_t made, Node node, const void* kernel) {
  DriverKernelNode now = as_now(kernel);
  return cuGraphExecKernelNodeSetParams_v2(made, node, kernel ? &now : nullptr);
}

// ---- copies and fills, which belong to a context: each reaches all memory ----

Result cuGraphAddMemcpyNode(Node* node, Graph graph, const Node* before, size_t count, const BoxCopy* copy, Context) {
  hipMemcpy3DParms box{};
  if (Result status = as_hip(copy, box)) return status;
  return answer([&] { return hipGraphAddMemcpyNode(node, graph, before, count, &box); });
}
Result cuGraphMemcpyNodeGetParams(Node node, BoxCopy* copy) {
  if (!copy) return kInvalidValue;
  hipMemcpy3DParms box{};
  Result status = answer([&] { return hipGraphMemcpyNodeGetParams(node, &box); });
  if (status == 0) *copy = as_driver(box);
  return status;
}
Result cuGraphMemcpyNodeSetParams(Node node, const BoxCopy* copy) {
  hipMemcpy3DParms box{};
  if (Result status = as_hip(copy, box)) return status;
  return answer([&] { return hipGraphMemcpyNodeSetParams(node, &box); });
}
Result cuGraphExecMemcpyNodeSetParams(hipGraphExec_t made, Node node, const BoxCopy* copy, Context) {
  hipMemcpy3DParms box{};
  if (Result status = as_hip(copy, box)) return status;
  return answer([&] { return hipGraphExecMemcpyNodeSetParams(made, node, &box); });
}

Result cuGraphAddMemsetNode(Node* node, Graph graph, const Node* before, size_t count, const FillParameters* fill,
                            Context) {
  return mneme::hostgpu::cuda::driver::forward<cudaGraphAddMemsetNode>(node, graph, before, count, fill);
}
Result cuGraphExecMemsetNodeSetParams(hipGraphExec_t made, Node node, const FillParameters* fill, Context) {
  return mneme::hostgpu::cuda::driver::forward<cudaGraphExecMemsetNodeSetParams>(made, node, fill);
}

// ---- nodes of any kind ----

Result cuGraphAddNode_v2(Node* node, Graph graph, const Node* before, const EdgeData* edges, size_t count,
                         AnyNode* parameters) {
  constexpr size_t kBoxOffset = 16;  // of CUDA_MEMCPY_NODE_PARAMS: flags and a context stand before it
  if (!parameters) return kInvalidValue;
  const void* first = parameters->words;
  switch (edges ? -1 : parameters->type) {
    case kKernelNode:
      return cuGraphAddKernelNode_v2(node, graph, before, count, static_cast<const DriverKernelNode*>(first));
    case kCopyNode: {
      const void* box = static_cast<const std::byte*>(first) + kBoxOffset;
      return cuGraphAddMemcpyNode(node, graph, before, count, static_cast<const BoxCopy*>(box), nullptr);
    }
    default:  // those that the runtime's are like
      return forward<mneme::hostgpu::cuda::add_any_node>(node, graph, before, edges, count, parameters);
  }
}
Result cuGraphAddNode(Node* node, Graph graph, const Node* before, size_t count, AnyNode* parameters) {
  return cuGraphAddNode_v2(node, graph, before, nullptr, count, parameters);
}
Result cuGraphConditionalHandleCreate(unsigned long long* handle, Graph graph, Context, unsigned value,
                                      unsigned flags) {
  return forward<cudaGraphConditionalHandleCreate>(handle, graph, value, flags);
}

Result cuGraphAddDependencies_v2(Graph graph, const Node* from, const Node* to, const EdgeData* edges, size_t count) {
  return edges ? kNotSupported : forward<hipGraphAddDependencies>(graph, from, to, count);
}
Result cuGraphRemoveDependencies_v2(Graph graph, const Node* from, const Node* to, const EdgeData* edges,
                                    size_t count) {
  return edges ? kNotSupported : forward<hipGraphRemoveDependencies>(graph, from, to, count);
}
Result cuGraphGetEdges_v2(Graph graph, Node* from, Node* to, EdgeData* data, size_t* count) {
  return answer([&] { return mneme::hostgpu::cuda::edges(graph, from, to, data, count); });
}

Result cuGraphExecUpdate_v2(hipGraphExec_t made, Graph graph, UpdateResult* result) {
  hipGraphExecUpdateResult how{};
  Node node = nullptr;
  Result status = answer([&] { return hipGraphExecUpdate(made, graph, &node, &how); });
  if (result) *result = {static_cast<int>(how), node, nullptr};
  return status;
}

}  // extern "C"
