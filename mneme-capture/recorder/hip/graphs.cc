// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/hip/graphs.h"

namespace mneme::record::hip {

CALL(Status, hipGraphAddEmptyNode, GraphNode*, Graph, const GraphNode*, size_t)
CALL(Status, hipGraphAddKernelNode, GraphNode*, Graph, const GraphNode*, size_t, const KernelNode*)
CALL(Status, hipGraphNodeGetType, GraphNode, int*)
CALL(Status, hipGraphDestroyNode, GraphNode)
CALL(Status, hipGraphInstantiate, GraphExec*, Graph, GraphNode*, char*, size_t)
CALL(Status, hipGraphGetEdges, Graph, GraphNode*, GraphNode*, size_t*)
CALL(Status, hipGraphKernelNodeGetParams, GraphNode, KernelNode*)
CALL(Status, hipGraphKernelNodeGetAttribute, GraphNode, int, void*)
CALL(Status, hipGraphExecKernelNodeSetParams, GraphExec, GraphNode, const KernelNode*)

namespace {

int get_edges(Graph graph, GraphNode* from, GraphNode* to, size_t* count) {
  return next::hipGraphGetEdges(graph, from, to, count);
}

constinit const GraphCalls all_calls{devices, kLibrary, "hip", get_edges};

// The types' numbers begin with 1 in early releases, which have other ones behind the first eight, and with 0 in later
// ones. Which these are is seen by a node that does nothing.
int first_type() {
  Graph graph = nullptr;
  GraphNode node = nullptr;
  int type = -1;
  need(all_calls.create(&graph, 0));
  Status status = next::hipGraphAddEmptyNode(&node, graph, nullptr, 0);
  if (status == kSuccess) status = next::hipGraphNodeGetType(node, &type);
  all_calls.destroy(graph);
  need(status);
  const int first = type - kEmptyNode;
  if (first != 0 && first != 1) throw GraphTrouble(kUntold);
  return first;
}

// A copy of the graph that has this node only, ready to be launched.
GraphExec alone(Graph graph, GraphNode node) {
  Graph copy = nullptr;
  GraphNode ours = nullptr;
  GraphExec ready = nullptr;
  need(all_calls.clone(&copy, graph));
  try {
    need(all_calls.find(&ours, node, copy));
    for (GraphNode other : nodes_of(all_calls, copy)) {
      if (other != ours) need(next::hipGraphDestroyNode(other));
    }
    need(next::hipGraphInstantiate(&ready, copy, nullptr, nullptr, 0));
  } catch (const GraphTrouble&) {
    all_calls.destroy(copy);
    throw;
  }
  all_calls.destroy(copy);
  return ready;
}

// A graph that has this kernel only, ready to be launched; null where the runtime makes none of it. Of many kernels, a
// copy of the graph for each would take long.
GraphExec alone(const KernelNode& kernel) {
  Graph graph = nullptr;
  GraphNode node = nullptr;
  GraphExec ready = nullptr;
  need(all_calls.create(&graph, 0));
  bool made = succeeds(next::hipGraphAddKernelNode(&node, graph, nullptr, 0, &kernel)) &&
              succeeds(next::hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  all_calls.destroy(graph);
  return made ? ready : nullptr;
}

// Releases that do not tell have no such kernels in graphs.
bool is_cooperative(GraphNode node) {
  constexpr int kCooperative = 2;  // hipKernelNodeAttributeCooperative
  struct {
    alignas(16) int value;
    char more[252];  // as large as any attribute
  } attribute{};
  return succeeds(next::hipGraphKernelNodeGetAttribute(node, kCooperative, &attribute)) && attribute.value != 0;
}

LaunchRequest request_of_kernel(const HipGraphs::Kernel& kernel, Stream stream) {
  const KernelNode& node = kernel.node;
  const Arguments arguments = arguments_of(node.arguments, node.extra, kParameterEnd);
  LaunchRequest request = record::request_of(node.function, node.grid, node.block, node.shared, stream, arguments);
  request.cooperative = kernel.cooperative;
  return request;
}

HipGraphs::Kernel kernel_of(GraphNode node) {
  HipGraphs::Kernel kernel;
  need(next::hipGraphKernelNodeGetParams(node, &kernel.node));
  kernel.cooperative = is_cooperative(node);
  return kernel;
}

}  // namespace

const GraphCalls& HipGraphs::calls() { return all_calls; }

NodeKind HipGraphs::kind_of(GraphNode node) {
  static const int first = first_type();
  int type = -1;
  need(next::hipGraphNodeGetType(node, &type));
  switch (type - first) {
    case kKernelNode:
      return NodeKind::kKernel;
    case kGraphNode:
      return NodeKind::kGraph;
    case kEmptyNode:
      return NodeKind::kEmpty;
    case kCopyNode:
    case kFillNode:
    case kHostNode:
    case kWaitNode:
    case kRecordNode:
      return NodeKind::kOther;
    default:
      break;
  }
  if (first == 1) return type <= kLastEarlyNode ? NodeKind::kOther : NodeKind::kForeign;
  if (type == kAllocationNode || type == kFreeNode) return NodeKind::kMemory;
  return type == kFromSymbolNode || type == kToSymbolNode ? NodeKind::kOther : NodeKind::kForeign;
}

HipGraphs::Step HipGraphs::step_of(Graph graph, GraphNode node, NodeKind kind) {
  Step step{.node = node};
  if (kind == NodeKind::kKernel) {
    step.kernel = kernel_of(node);
    if (!step.kernel->cooperative) step.alone = alone(step.kernel->node);
  }
  if (!step.alone) step.alone = alone(graph, node);
  return step;
}

LaunchRequest HipGraphs::request_of(const Step& step, Stream stream) { return request_of_kernel(*step.kernel, stream); }

LaunchRequest HipGraphs::request_of(GraphNode node) { return request_of_kernel(kernel_of(node), nullptr); }

// A function of a module serves where a host function does.
Status HipGraphs::set_kernel(GraphExec ready, GraphNode node, const LaunchRequest& request, void* function) {
  KernelNode changed = kernel_of(node).node;
  changed.function = function;
  changed.grid = {request.grid.x, request.grid.y, request.grid.z};
  changed.block = {request.block.x, request.block.y, request.block.z};
  changed.shared = request.shared_bytes;
  return next::hipGraphExecKernelNodeSetParams(ready, node, &changed);
}

Status HipGraphs::launch(const LaunchRequest& request, const Step& step, Stream stream) {
  return record::launch(hip::runtime(), request, [&] { return all_calls.launch(step.alone, stream); });
}

}  // namespace mneme::record::hip
