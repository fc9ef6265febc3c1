// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA's interface to graphs: the driver's, as far as NVIDIA's does something else than the host device's, and what the
// runtime's stand-in lacks of it.
#include <algorithm>
#include <vector>

#include "driver.h"
#include "vendor/cuda/api.h"

using namespace mneme::fake_cuda;
namespace declared = mneme::vendor::cuda;

using Node = hipGraphNode_t;

// Those of the runtime's stand-in that take kernels of its own only, and graphs without memory of their own.
extern "C" {
int cudaGraphNodeGetType(Node node, int* type);
int mneme_get_kernel_node(Node node, declared::KernelNode* parameters);
int mneme_clone_graph(hipGraph_t* clone, hipGraph_t graph);
}

namespace {

std::vector<Node> nodes_of(hipGraph_t graph) {
  size_t count = 0;
  if (hipGraphGetNodes(graph, nullptr, &count) != hipSuccess) return {};
  std::vector<Node> nodes(count);
  if (count && hipGraphGetNodes(graph, nodes.data(), &count) != hipSuccess) return {};
  return nodes;
}

// NVIDIA does not copy a graph with memory or conditions of its own.
bool is_not_copied(hipGraph_t graph) {
  return std::ranges::any_of(nodes_of(graph), [](Node node) {
    int type = 0;
    return cudaGraphNodeGetType(node, &type) == 0 && type >= declared::kAllocationNode;
  });
}

// A module's functions are known to the runtime's stand-in, but not to NVIDIA's runtime.
hipKernelNodeParams hips_of(const declared::DriverKernelNode& node) {
  hipKernelNodeParams hips{};
  hips.func = as_hip(static_cast<hipFunction_t>(node.function ? node.function : node.kernel));
  hips.gridDim = {node.grid.x, node.grid.y, node.grid.z};
  hips.blockDim = {node.block.x, node.block.y, node.block.z};
  hips.sharedMemBytes = node.shared;
  hips.kernelParams = node.arguments;
  return hips;
}

mneme::vendor::Dimensions dimensions(dim3 d) { return {d.x, d.y, d.z}; }

}  // namespace

extern "C" {

// ---- kernels of modules ----

Result cuGraphAddKernelNode_v2(Node* node, hipGraph_t graph, const Node* before, size_t count,
                               const declared::DriverKernelNode* parameters) {
  hipKernelNodeParams hips = hips_of(*parameters);
  return result(hipGraphAddKernelNode(node, graph, before, count, &hips));
}
Result cuGraphKernelNodeGetParams_v2(Node node, declared::DriverKernelNode* parameters) {
  hipKernelNodeParams hips{};
  hipError_t status = hipGraphKernelNodeGetParams(node, &hips);
  if (status != hipSuccess) return result(status);
  // Of a library's kernel the driver gives the function that it is in the context.
  *parameters = {function_of_kernel(hips.func),
                 dimensions(hips.gridDim),
                 dimensions(hips.blockDim),
                 hips.sharedMemBytes,
                 hips.kernelParams,
                 nullptr,
                 nullptr,
                 nullptr};
  return 0;
}
Result cuGraphKernelNodeSetParams_v2(Node node, const declared::DriverKernelNode* parameters) {
  hipKernelNodeParams hips = hips_of(*parameters);
  return result(hipGraphKernelNodeSetParams(node, &hips));
}
Result cuGraphExecKernelNodeSetParams_v2(hipGraphExec_t ready, Node node,
                                         const declared::DriverKernelNode* parameters) {
  hipKernelNodeParams hips = hips_of(*parameters);
  return result(hipGraphExecKernelNodeSetParams(ready, node, &hips));
}
int cudaGraphKernelNodeGetParams(Node node, declared::KernelNode* parameters) {
  constexpr int kInvalidDeviceFunction = 98;
  int status = mneme_get_kernel_node(node, parameters);
  return status == 0 && is_of_module(parameters->function) ? kInvalidDeviceFunction : status;
}

// ---- events ----

int cudaGraphAddEventRecordNode(Node* node, hipGraph_t graph, const Node* before, size_t count, hipEvent_t event) {
  return result(hipGraphAddEventRecordNode(node, graph, before, count, event));
}
int cudaGraphEventRecordNodeGetEvent(Node node, hipEvent_t* event) {
  return result(hipGraphEventRecordNodeGetEvent(node, event));
}
int cudaGraphAddEventWaitNode(Node* node, hipGraph_t graph, const Node* before, size_t count, hipEvent_t event) {
  return result(hipGraphAddEventWaitNode(node, graph, before, count, event));
}
int cudaGraphEventWaitNodeGetEvent(Node node, hipEvent_t* event) {
  return result(hipGraphEventWaitNodeGetEvent(node, event));
}
int cudaGraphExecEventRecordNodeSetEvent(hipGraphExec_t ready, Node node, hipEvent_t event) {
  return result(hipGraphExecEventRecordNodeSetEvent(ready, node, event));
}

// ---- memory ----

int cudaGraphClone(hipGraph_t* clone, hipGraph_t graph) {
  if (is_not_copied(graph)) return mneme::vendor::kNotSupported;
  if (int status = mneme_clone_graph(clone, graph)) return status;
  for (Node node : nodes_of(graph)) {
    Node copy = nullptr;
    if (hipGraphNodeFindInClone(&copy, node, *clone) == hipSuccess) copy_node_attributes(node, copy);
  }
  return 0;
}
Result cuGraphClone(hipGraph_t* clone, hipGraph_t graph) { return cudaGraphClone(clone, graph); }

}  // extern "C"
