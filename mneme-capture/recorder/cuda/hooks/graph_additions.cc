// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of CUDA's runtime and of its driver for nodes that allocate memory or have conditions, and for graphs
// as a whole, as the application finds them first. Both have the same graphs and nodes, and the same structures of
// parameters.
#include "recorder/cuda/graph_conditions.h"
#include "recorder/cuda/graph_memory.h"

namespace mneme::record::cuda {
namespace {

using AddAllocation = Next<Error(GraphNode*, Graph, const GraphNode*, size_t, AllocationNode*)>;
using AddFree = Next<Error(GraphNode*, Graph, const GraphNode*, size_t, void*)>;
using AddEmptyNode = Next<Error(GraphNode*, Graph, const GraphNode*, size_t)>;
using AddChild = Next<Error(GraphNode*, Graph, const GraphNode*, size_t, Graph)>;
using GetAllocation = Next<Error(GraphNode, AllocationNode*)>;
using GetFree = Next<Error(GraphNode, void*)>;
using GetType = Next<Error(GraphNode, int*)>;
using Clone = Next<Error(Graph*, Graph)>;
using Destroy = Next<Error(Graph)>;
// The parameters come last, or, where edges have no data, before that.
using AddAny = Next<Error(GraphNode*, Graph, const GraphNode*, uintptr_t, uintptr_t, AnyNode*)>;

constinit AddAllocation next_add_allocation(kLibrary, "cudaGraphAddMemAllocNode");
constinit AddAllocation next_add_allocation_driver(kDriver, "cuGraphAddMemAllocNode");
constinit AddFree next_add_free(kLibrary, "cudaGraphAddMemFreeNode");
constinit AddFree next_add_free_driver(kDriver, "cuGraphAddMemFreeNode");
constinit AddEmptyNode next_add_empty(kDriver, "cuGraphAddEmptyNode");
constinit AddChild next_add_child(kLibrary, "cudaGraphAddChildGraphNode");
constinit AddChild next_add_child_driver(kDriver, "cuGraphAddChildGraphNode");
constinit AddAny next_add(kLibrary, "cudaGraphAddNode");
constinit AddAny next_add_v2(kLibrary, "cudaGraphAddNode_v2");
constinit AddAny next_add_driver(kDriver, "cuGraphAddNode");
constinit AddAny next_add_driver_v2(kDriver, "cuGraphAddNode_v2");
constinit GetAllocation next_get_allocation(kLibrary, "cudaGraphMemAllocNodeGetParams");
constinit GetAllocation next_get_allocation_driver(kDriver, "cuGraphMemAllocNodeGetParams");
constinit GetFree next_get_free(kLibrary, "cudaGraphMemFreeNodeGetParams");
constinit GetFree next_get_free_driver(kDriver, "cuGraphMemFreeNodeGetParams");
constinit GetType next_type(kLibrary, "cudaGraphNodeGetType");
constinit GetType next_type_driver(kDriver, "cuGraphNodeGetType");
constinit Clone next_clone(kLibrary, "cudaGraphClone");
constinit Clone next_clone_driver(kDriver, "cuGraphClone");
constinit Destroy next_destroy(kLibrary, "cudaGraphDestroy");
constinit Destroy next_destroy_driver(kDriver, "cuGraphDestroy");
constinit Next<Error(ConditionHandle*, Graph, unsigned, unsigned)> next_condition(kLibrary,
                                                                                  "cudaGraphConditionalHandleCreate");
constinit Next<Error(ConditionHandle*, Graph, void*, unsigned, unsigned)> next_condition_driver(
    kDriver, "cuGraphConditionalHandleCreate");
constinit Next<Error(int*)> next_version(kLibrary, "cudaRuntimeGetVersion");

bool edges_have_data() {
  constexpr int kSince = 13000;
  static const bool have = [] {
    int version = 0;
    return next_version.call_or(kNotSupported, &version) == kSuccess && version >= kSince;
  }();
  return have;
}

Error add_allocation_by(const AddAllocation& next, GraphNode* node, Graph graph, const GraphNode* before, size_t count,
                        AllocationNode* parameters) {
  return add_allocation(
      node, graph, parameters, [&] { return next_add_empty.call_or(kNotSupported, node, graph, before, count); },
      [&] { return next.call_or(kNotSupported, node, graph, before, count, parameters); });
}

Error add_free_by(const AddFree& next, GraphNode* node, Graph graph, const GraphNode* before, size_t count,
                  void* memory) {
  return add_free(
      node, graph, memory, [&] { return next_add_empty.call_or(kNotSupported, node, graph, before, count); },
      [&] { return next.call_or(kNotSupported, node, graph, before, count, memory); });
}

Error add_child_by(const AddChild& next, GraphNode* node, Graph graph, const GraphNode* before, size_t count,
                   Graph child) {
  return add_child(graph, {child, 0}, [&] { return next.call_or(kNotSupported, node, graph, before, count, child); });
}

Error add_by(const AddAny& next, bool data, GraphNode* node, Graph graph, const GraphNode* before, uintptr_t fourth,
             uintptr_t fifth, AnyNode* sixth) {
  if (data) {
    return add_any(node, graph, sixth, [&](AnyNode* parameters) {
      return next.call_or(kNotSupported, node, graph, before, fourth, fifth, parameters);
    });
  }
  return add_any(node, graph, reinterpret_cast<AnyNode*>(fifth), [&](AnyNode* parameters) {
    return next.call_or(kNotSupported, node, graph, before, fourth, reinterpret_cast<uintptr_t>(parameters), sixth);
  });
}

Error get(const GetAllocation& next, GraphNode node, AllocationNode* parameters) {
  const auto known = parameters ? find_allocation(node) : std::nullopt;
  if (!known) return next.call_or(kNotSupported, node, parameters);
  *parameters = *known;
  return kSuccess;
}

Error get(const GetFree& next, GraphNode node, void* memory) {
  const auto known = memory ? find_free(node) : std::nullopt;
  if (!known) return next.call_or(kNotSupported, node, memory);
  *static_cast<void**>(memory) = *known;
  return kSuccess;
}

Error clone(const Clone& next, Graph* copy, Graph graph) {
  const Error status = next.call_or(kNotSupported, copy, graph);
  if (status == kSuccess) share_memory(graph, *copy);
  return status;
}

Error destroy(const Destroy& next, Graph graph) {
  const Error status = next.call_or(kNotSupported, graph);
  if (status == kSuccess) release_memory(graph);
  return status;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Error cudaGraphAddMemAllocNode(GraphNode* node, Graph graph, const GraphNode* before, size_t count,
                               AllocationNode* parameters) {
  return add_allocation_by(next_add_allocation, node, graph, before, count, parameters);
}

Result cuGraphAddMemAllocNode(GraphNode* node, Graph graph, const GraphNode* before, size_t count,
                              AllocationNode* parameters) {
  return add_allocation_by(next_add_allocation_driver, node, graph, before, count, parameters);
}

Error cudaGraphAddMemFreeNode(GraphNode* node, Graph graph, const GraphNode* before, size_t count, void* memory) {
  return add_free_by(next_add_free, node, graph, before, count, memory);
}

Result cuGraphAddMemFreeNode(GraphNode* node, Graph graph, const GraphNode* before, size_t count, void* memory) {
  return add_free_by(next_add_free_driver, node, graph, before, count, memory);
}

Error cudaGraphAddChildGraphNode(GraphNode* node, Graph graph, const GraphNode* before, size_t count, Graph child) {
  return add_child_by(next_add_child, node, graph, before, count, child);
}

Result cuGraphAddChildGraphNode(GraphNode* node, Graph graph, const GraphNode* before, size_t count, Graph child) {
  return add_child_by(next_add_child_driver, node, graph, before, count, child);
}

Error cudaGraphAddNode(GraphNode* node, Graph graph, const GraphNode* before, uintptr_t fourth, uintptr_t fifth,
                       AnyNode* sixth) {
  return add_by(next_add, edges_have_data(), node, graph, before, fourth, fifth, sixth);
}

Error cudaGraphAddNode_v2(GraphNode* node, Graph graph, const GraphNode* before, uintptr_t fourth, uintptr_t fifth,
                          AnyNode* sixth) {
  return add_by(next_add_v2, true, node, graph, before, fourth, fifth, sixth);
}

Result cuGraphAddNode(GraphNode* node, Graph graph, const GraphNode* before, uintptr_t fourth, uintptr_t fifth,
                      AnyNode* sixth) {
  return add_by(next_add_driver, false, node, graph, before, fourth, fifth, sixth);
}

Result cuGraphAddNode_v2(GraphNode* node, Graph graph, const GraphNode* before, uintptr_t fourth, uintptr_t fifth,
                         AnyNode* sixth) {
  return add_by(next_add_driver_v2, true, node, graph, before, fourth, fifth, sixth);
}

Error cudaGraphConditionalHandleCreate(ConditionHandle* handle, Graph graph, unsigned value, unsigned flags) {
  return make_condition(handle, graph, value, flags, [&](ConditionHandle* made) {
    return next_condition.call_or(kNotSupported, made, graph, value, flags);
  });
}

Result cuGraphConditionalHandleCreate(ConditionHandle* handle, Graph graph, void* context, unsigned value,
                                      unsigned flags) {
  return make_condition(handle, graph, value, flags, [&](ConditionHandle* made) {
    return next_condition_driver.call_or(kNotSupported, made, graph, context, value, flags);
  });
}

Error cudaGraphMemAllocNodeGetParams(GraphNode node, AllocationNode* parameters) {
  return get(next_get_allocation, node, parameters);
}

Result cuGraphMemAllocNodeGetParams(GraphNode node, AllocationNode* parameters) {
  return get(next_get_allocation_driver, node, parameters);
}

Error cudaGraphMemFreeNodeGetParams(GraphNode node, void* memory) { return get(next_get_free, node, memory); }

Result cuGraphMemFreeNodeGetParams(GraphNode node, void* memory) { return get(next_get_free_driver, node, memory); }

Error cudaGraphNodeGetType(GraphNode node, int* type) {
  return type_asked(next_type.call_or(kNotSupported, node, type), node, type);
}

Result cuGraphNodeGetType(GraphNode node, int* type) {
  return type_asked(next_type_driver.call_or(kNotSupported, node, type), node, type);
}

Error cudaGraphClone(Graph* copy, Graph graph) { return clone(next_clone, copy, graph); }

Result cuGraphClone(Graph* copy, Graph graph) { return clone(next_clone_driver, copy, graph); }

Error cudaGraphDestroy(Graph graph) { return destroy(next_destroy, graph); }

Result cuGraphDestroy(Graph graph) { return destroy(next_destroy_driver, graph); }

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::cuda
