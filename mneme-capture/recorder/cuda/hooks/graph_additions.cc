// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of CUDA's runtime and of its driver for nodes that allocate memory or have conditions, and for graphs
// as a whole. Both have the same graphs and nodes, and the same structures of parameters.
#include "recorder/cuda/graph_conditions.h"
#include "recorder/cuda/graph_memory.h"

namespace mneme::record::cuda {

CALL(Status, cuGraphAddEmptyNode, GraphNode*, Graph, const GraphNode*, size_t)
CALL(Status, cudaRuntimeGetVersion, int*)

namespace {

Status add_allocating(CudaRuntime&, const Real& real, GraphNode* node, Graph graph, const GraphNode* before,
                      size_t count, AllocationNode* parameters) {
  auto empty = [&] { return next::cuGraphAddEmptyNode(node, graph, before, count); };
  return add_allocation(node, graph, parameters, empty, real);
}

Status add_freeing(CudaRuntime&, const Real& real, GraphNode* node, Graph graph, const GraphNode* before, size_t count,
                   void* memory) {
  auto empty = [&] { return next::cuGraphAddEmptyNode(node, graph, before, count); };
  return add_free(node, graph, memory, empty, real);
}

Status add_graph(CudaRuntime&, const Real& real, GraphNode*, Graph graph, const GraphNode*, size_t, Graph child) {
  return add_child(graph, {child, 0}, real);
}

bool edges_have_data() {
  constexpr int kSince = 13000;
  static const bool have = [] {
    int version = 0;
    return next::cudaRuntimeGetVersion(&version) == kSuccess && version >= kSince;
  }();
  return have;
}

// The parameters come last, or, where edges have no data, before that.
using AddAny = Status(GraphNode*, Graph, const GraphNode*, uintptr_t, uintptr_t, AnyNode*);
Status add_by(const Next<AddAny>& next, bool data, GraphNode* node, Graph graph, const GraphNode* before,
              uintptr_t fourth, uintptr_t fifth, AnyNode* sixth) {
  if (data) {
    return add_any(node, graph, sixth,
                   [&](AnyNode* parameters) { return next(node, graph, before, fourth, fifth, parameters); });
  }
  return add_any(node, graph, reinterpret_cast<AnyNode*>(fifth), [&](AnyNode* parameters) {
    return next(node, graph, before, fourth, reinterpret_cast<uintptr_t>(parameters), sixth);
  });
}

Status create_condition(CudaRuntime&, const Real& real, ConditionHandle* handle, Graph graph, unsigned value,
                        unsigned flags) {
  return make_condition(handle, graph, value, flags, real());
}
Status create_condition_in(CudaRuntime&, const Real& real, ConditionHandle* handle, Graph graph, void* /*context*/,
                           unsigned value, unsigned flags) {
  return make_condition(handle, graph, value, flags, real());
}

Status get_allocation(CudaRuntime&, const Real& real, GraphNode node, AllocationNode* parameters) {
  const auto known = parameters ? find_allocation(node) : std::nullopt;
  if (!known) return real();
  *parameters = *known;
  return kSuccess;
}

Status get_free(CudaRuntime&, const Real& real, GraphNode node, void* memory) {
  const auto known = memory ? find_free(node) : std::nullopt;
  if (!known) return real();
  *static_cast<void**>(memory) = *known;
  return kSuccess;
}

Status get_type(CudaRuntime&, const Real& real, GraphNode node, int* type) { return type_asked(real(), node, type); }

Status clone(CudaRuntime&, const Real& real, Graph* copy, Graph graph) {
  const Status status = real();
  if (status == kSuccess) share_memory(graph, *copy);
  return status;
}

Status destroy(CudaRuntime&, const Real& real, Graph graph) {
  const Status status = real();
  if (status == kSuccess) CudaGraphs::gone(graph);
  return status;
}

}  // namespace

HOOK(add_allocating, cudaGraphAddMemAllocNode, GraphNode*, Graph, const GraphNode*, size_t, AllocationNode*)
HOOK(add_allocating, cuGraphAddMemAllocNode, GraphNode*, Graph, const GraphNode*, size_t, AllocationNode*)
HOOK(add_freeing, cudaGraphAddMemFreeNode, GraphNode*, Graph, const GraphNode*, size_t, void*)
HOOK(add_freeing, cuGraphAddMemFreeNode, GraphNode*, Graph, const GraphNode*, size_t, void*)
HOOK(add_graph, cudaGraphAddChildGraphNode, GraphNode*, Graph, const GraphNode*, size_t, Graph)
HOOK(add_graph, cuGraphAddChildGraphNode, GraphNode*, Graph, const GraphNode*, size_t, Graph)

#define HOOK_ADDITION(name, data)                                                                              \
  HOOKED Status name(GraphNode* node, Graph graph, const GraphNode* before, uintptr_t fourth, uintptr_t fifth, \
                     AnyNode* sixth) {                                                                         \
    NEXT(name);                                                                                                \
    return add_by(next, data, node, graph, before, fourth, fifth, sixth);                                      \
  }
HOOK_ADDITION(cudaGraphAddNode, edges_have_data())
HOOK_ADDITION(cudaGraphAddNode_v2, true)
HOOK_ADDITION(cuGraphAddNode, false)
HOOK_ADDITION(cuGraphAddNode_v2, true)

HOOK(create_condition, cudaGraphConditionalHandleCreate, ConditionHandle*, Graph, unsigned, unsigned)
HOOK(create_condition_in, cuGraphConditionalHandleCreate, ConditionHandle*, Graph, void*, unsigned, unsigned)

HOOK(get_allocation, cudaGraphMemAllocNodeGetParams, GraphNode, AllocationNode*)
HOOK(get_allocation, cuGraphMemAllocNodeGetParams, GraphNode, AllocationNode*)
HOOK(get_free, cudaGraphMemFreeNodeGetParams, GraphNode, void*)
HOOK(get_free, cuGraphMemFreeNodeGetParams, GraphNode, void*)
HOOK(get_type, cudaGraphNodeGetType, GraphNode, int*)
HOOK(get_type, cuGraphNodeGetType, GraphNode, int*)
HOOK(clone, cudaGraphClone, Graph*, Graph)
HOOK(clone, cuGraphClone, Graph*, Graph)
HOOK(destroy, cudaGraphDestroy, Graph)
HOOK(destroy, cuGraphDestroy, Graph)

}  // namespace mneme::record::cuda
