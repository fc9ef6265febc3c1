// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/hip/graphs.h"

#include "recorder/hip/launch.h"

namespace mneme::record::hip {
namespace {

constinit Next<Error(Graph*, unsigned)> next_create(kLibrary, "hipGraphCreate");
constinit Next<Error(GraphNode*, Graph, const GraphNode*, size_t)> next_add_empty(kLibrary, "hipGraphAddEmptyNode");
constinit Next<Error(GraphNode*, Graph, const GraphNode*, size_t, const KernelNode*)> next_add_kernel(
    kLibrary, "hipGraphAddKernelNode");
constinit Next<Error(GraphNode, int*)> next_type(kLibrary, "hipGraphNodeGetType");
constinit Next<Error(GraphNode)> next_destroy_node(kLibrary, "hipGraphDestroyNode");
constinit Next<Error(GraphExec*, Graph, GraphNode*, char*, size_t)> next_instantiate(kLibrary, "hipGraphInstantiate");
constinit Next<Error(Graph, GraphNode*, GraphNode*, size_t*)> next_edges(kLibrary, "hipGraphGetEdges");
constinit Next<Error(GraphNode, KernelNode*)> next_get_kernel(kLibrary, "hipGraphKernelNodeGetParams");
constinit Next<Error(GraphNode, int, void*)> next_get_attribute(kLibrary, "hipGraphKernelNodeGetAttribute");
constinit Next<Error(GraphExec, Stream)> next_launch(kLibrary, "hipGraphLaunch");

int get_edges(Graph graph, GraphNode* from, GraphNode* to, size_t* count) {
  return next_edges.call_or(kNotSupported, graph, from, to, count);
}

constinit const GraphCalls all_calls{
    .clone{kLibrary, "hipGraphClone"},
    .find{kLibrary, "hipGraphNodeFindInClone"},
    .destroy{kLibrary, "hipGraphDestroy"},
    .destroy_ready{kLibrary, "hipGraphExecDestroy"},
    .nodes{kLibrary, "hipGraphGetNodes"},
    .edges = get_edges,
    .get_child{kLibrary, "hipGraphChildGraphNodeGetGraph"},
    .last_error{kLibrary, "hipGetLastError"},
    .create_event{kLibrary, "hipEventCreateWithFlags"},
    .record_event{kLibrary, "hipEventRecord"},
    .wait_for_event{kLibrary, "hipStreamWaitEvent"},
    .destroy_event{kLibrary, "hipEventDestroy"},
    .synchronize{kLibrary, "hipStreamSynchronize"},
    .synchronize_all{kLibrary, "hipDeviceSynchronize"},
};

// The types' numbers begin with 1 in early releases, which have other ones behind the first eight, and with 0 in later
// ones. Which these are is seen by a node that does nothing.
int first_type() {
  Graph graph = nullptr;
  GraphNode node = nullptr;
  int type = -1;
  need(next_create.call_or(kNotSupported, &graph, 0));
  Error status = next_add_empty.call_or(kNotSupported, &node, graph, nullptr, 0);
  if (status == kSuccess) status = next_type.call_or(kNotSupported, node, &type);
  all_calls.destroy.call_or(kNotSupported, graph);
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
  need(all_calls.clone.call_or(kNotSupported, &copy, graph));
  try {
    need(all_calls.find.call_or(kNotSupported, &ours, node, copy));
    for (GraphNode other : nodes_of(all_calls, copy)) {
      if (other != ours) need(next_destroy_node.call_or(kNotSupported, other));
    }
    need(next_instantiate.call_or(kNotSupported, &ready, copy, nullptr, nullptr, 0));
  } catch (const GraphTrouble&) {
    all_calls.destroy.call_or(kNotSupported, copy);
    throw;
  }
  all_calls.destroy.call_or(kNotSupported, copy);
  return ready;
}

// A graph that has this kernel only, ready to be launched; null where the runtime makes none of it. Of many kernels, a
// copy of the graph for each would take long.
GraphExec alone(const KernelNode& kernel) {
  Graph graph = nullptr;
  GraphNode node = nullptr;
  GraphExec ready = nullptr;
  need(next_create.call_or(kNotSupported, &graph, 0));
  bool made = succeeds(next_add_kernel.call_or(kNotSupported, &node, graph, nullptr, 0, &kernel)) &&
              succeeds(next_instantiate.call_or(kNotSupported, &ready, graph, nullptr, nullptr, 0));
  all_calls.destroy.call_or(kNotSupported, graph);
  return made ? ready : nullptr;
}

// Releases that do not tell have no such kernels in graphs.
bool is_cooperative(GraphNode node) {
  constexpr int kCooperative = 2;  // hipKernelNodeAttributeCooperative
  struct {
    alignas(16) int value;
    char more[252];  // as large as any attribute
  } attribute{};
  return succeeds(next_get_attribute.call_or(kNotSupported, node, kCooperative, &attribute)) && attribute.value != 0;
}

}  // namespace

const GraphCalls& HipGraphs::calls() { return all_calls; }

NodeKind HipGraphs::kind_of(GraphNode node) {
  static const int first = first_type();
  int type = -1;
  need(next_type.call_or(kNotSupported, node, &type));
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
    step.kernel.emplace();
    need(next_get_kernel.call_or(kNotSupported, node, &step.kernel->node));
    step.kernel->cooperative = is_cooperative(node);
    if (!step.kernel->cooperative) step.alone = alone(step.kernel->node);
  }
  if (!step.alone) step.alone = alone(graph, node);
  return step;
}

LaunchRequest HipGraphs::request_of(const Step& step, Stream stream) {
  const KernelNode& node = step.kernel->node;
  LaunchRequest request;
  request.function = node.function;
  request.grid = dimensions(node.grid);
  request.block = dimensions(node.block);
  request.shared_bytes = node.shared;
  request.arguments = arguments_of(node.arguments, node.extra, kParameterEnd);
  request.stream = stream;
  request.cooperative = step.kernel->cooperative;
  return request;
}

Error HipGraphs::launch(const LaunchRequest& request, const Step& step, Stream stream) {
  return hip::launch(request, [&] { return next_launch.call_or(kNotSupported, step.alone, stream); });
}

Error HipGraphs::perform(GraphExec alone, Stream stream) { return change(next_launch, alone, stream); }

}  // namespace mneme::record::hip
