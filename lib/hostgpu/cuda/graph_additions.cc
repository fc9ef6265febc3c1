// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What graphs have that HIP's have not: nodes that allocate memory, conditions, and nodes of any kind by one function.
#include "hostgpu/cuda/functions.h"
#include "hostgpu/cuda/versions.h"
#include "hostgpu/extensions.h"

using namespace mneme::hostgpu::cuda;
using mneme::vendor::cuda::AllocationNode;
using mneme::vendor::cuda::AnyNode;

using Node = hipGraphNode_t;

extern "C" {

Error cudaGraphAddMemAllocNode(Node* node, hipGraph_t graph, const Node* before, size_t count,
                               AllocationNode* parameters) {
  return mneme_hostgpu_add_allocation(node, graph, before, count, parameters);
}
Error cudaGraphAddMemFreeNode(Node* node, hipGraph_t graph, const Node* before, size_t count, void* memory) {
  return mneme_hostgpu_add_free(node, graph, before, count, memory);
}
Error cudaGraphMemAllocNodeGetParams(Node node, AllocationNode* parameters) {
  const int type = parameters ? mneme_hostgpu_memory_node(node, parameters, nullptr) : 0;
  return type == mneme::vendor::cuda::kAllocationNode ? 0 : kInvalidValue;
}
Error cudaGraphMemFreeNodeGetParams(Node node, void* memory) {
  const int type = memory ? mneme_hostgpu_memory_node(node, nullptr, static_cast<void**>(memory)) : 0;
  return type == mneme::vendor::cuda::kFreeNode ? 0 : kInvalidValue;
}

Error cudaGraphConditionalHandleCreate(unsigned long long* handle, hipGraph_t graph, unsigned value, unsigned flags) {
  constexpr unsigned kAssignDefault = 1;
  if (flags & ~kAssignDefault) return kInvalidValue;
  return mneme_hostgpu_make_condition(handle, graph, value, flags != 0);
}

}  // extern "C"

namespace mneme::hostgpu::cuda {

namespace {

// A child that becomes the graph's own has no handle any more.
Error add_child(Node* node, hipGraph_t graph, const Node* before, size_t count, const vendor::cuda::ChildNode& child) {
  auto* handle = static_cast<hipGraph_t>(child.graph);
  hipError_t status = hipGraphAddChildGraphNode(node, graph, before, count, handle);
  if (status == hipSuccess && child.ownership == vendor::cuda::kOwnershipMove) status = hipGraphDestroy(handle);
  return error(status);
}

}  // namespace

Error add_any_node(Node* node, hipGraph_t graph, const Node* before, const void* edges, size_t count,
                   AnyNode* parameters) {
  constexpr size_t kBoxOffset = 16;  // of cudaMemcpyNodeParams: flags stand before it
  if (!parameters) return kInvalidValue;
  if (edges) return mneme_hostgpu_refuse("a node of any kind", "edges with data");
  void* first = parameters->words;
  switch (parameters->type) {
    case vendor::cuda::kKernelNode:
      return cudaGraphAddKernelNode(node, graph, before, count, static_cast<const KernelNode*>(first));
    case vendor::cuda::kCopyNode:
      return error(hipGraphAddMemcpyNode(
          node, graph, before, count,
          reinterpret_cast<const hipMemcpy3DParms*>(static_cast<const char*>(first) + kBoxOffset)));
    case vendor::cuda::kFillNode:
      return cudaGraphAddMemsetNode(node, graph, before, count, static_cast<const FillParameters*>(first));
    case vendor::cuda::kHostNode:
      return error(hipGraphAddHostNode(node, graph, before, count, static_cast<const hipHostNodeParams*>(first)));
    case vendor::cuda::kGraphNode:
      return add_child(node, graph, before, count, parameters->child);
    case vendor::cuda::kEmptyNode:
      return error(hipGraphAddEmptyNode(node, graph, before, count));
    case vendor::cuda::kWaitNode:
      return error(hipGraphAddEventWaitNode(node, graph, before, count, *static_cast<hipEvent_t*>(first)));
    case vendor::cuda::kRecordNode:
      return error(hipGraphAddEventRecordNode(node, graph, before, count, *static_cast<hipEvent_t*>(first)));
    case vendor::cuda::kAllocationNode:
      return mneme_hostgpu_add_allocation(node, graph, before, count, &parameters->allocation);
    case vendor::cuda::kFreeNode:
      return mneme_hostgpu_add_free(node, graph, before, count, parameters->freed);
    case vendor::cuda::kConditionNode: {
      auto& ours = parameters->condition;
      return mneme_hostgpu_add_condition(node, graph, before, count, ours.handle, ours.kind, ours.size,
                                         reinterpret_cast<hipGraph_t**>(&ours.bodies));
    }
    default:
      return kNotSupported;
  }
}

}  // namespace mneme::hostgpu::cuda
