// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs, as far as their functions are no other's: kernels' parameters, and edges that carry data, which are refused.
#include "hostgpu/cuda/driver/driver.h"
#include "hostgpu/cuda/versions.h"

namespace mneme::hostgpu::cuda::driver {
namespace {

hipKernelNodeParams as_hip(const KernelNode& node) {
  hipKernelNodeParams hips{};
  hips.func = node.function ? node.function : node.kernel;
  hips.gridDim = {node.grid[0], node.grid[1], node.grid[2]};
  hips.blockDim = {node.block[0], node.block[1], node.block[2]};
  hips.sharedMemBytes = node.shared;
  hips.kernelParams = node.arguments;
  return hips;
}

// Packed arguments are for launches.
bool is_usable(const KernelNode* node) { return node && !node->extra; }

}  // namespace
}  // namespace mneme::hostgpu::cuda::driver

using namespace mneme::hostgpu::cuda::driver;
using mneme::hostgpu::cuda::EdgeData;
using mneme::hostgpu::cuda::kInvalidValue;
using mneme::hostgpu::cuda::kNotSupported;
using mneme::hostgpu::cuda::UpdateResult;

using Graph = hipGraph_t;
using Node = hipGraphNode_t;

extern "C" {

Result cuGraphAddKernelNode_v2(Node* node, Graph graph, const Node* before, size_t count, const KernelNode* kernel) {
  if (!is_usable(kernel)) return kInvalidValue;
  hipKernelNodeParams hips = as_hip(*kernel);
  return answer([&] { return hipGraphAddKernelNode(node, graph, before, count, &hips); });
}
Result cuGraphKernelNodeGetParams_v2(Node node, KernelNode* kernel) {
  if (!kernel) return kInvalidValue;
  hipKernelNodeParams hips{};
  Result status = answer([&] { return hipGraphKernelNodeGetParams(node, &hips); });
  const dim3 &grid = hips.gridDim, &block = hips.blockDim;
  if (status == 0) {
    *kernel = {static_cast<Function>(hips.func),
               {grid.x, grid.y, grid.z},
               {block.x, block.y, block.z},
               hips.sharedMemBytes,
               hips.kernelParams,
               nullptr,
               nullptr,
               nullptr};
  }
  return status;
}
Result cuGraphKernelNodeSetParams_v2(Node node, const KernelNode* kernel) {
  if (!is_usable(kernel)) return kInvalidValue;
  hipKernelNodeParams hips = as_hip(*kernel);
  return answer([&] { return hipGraphKernelNodeSetParams(node, &hips); });
}
Result cuGraphExecKernelNodeSetParams_v2(hipGraphExec_t made, Node node, const KernelNode* kernel) {
  if (!is_usable(kernel)) return kInvalidValue;
  hipKernelNodeParams hips = as_hip(*kernel);
  return answer([&] { return hipGraphExecKernelNodeSetParams(made, node, &hips); });
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
