// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda/graphs.h"

#include "recorder/cuda/handles.h"

namespace mneme::record::cuda {

CALL(Status, cuGraphInstantiateWithFlags, GraphExec*, Graph, unsigned long long)
CALL(Status, cuGraphGetEdges, Graph, GraphNode*, GraphNode*, size_t*)
CALL(Status, cuGraphGetEdges_v2, Graph, GraphNode*, GraphNode*, EdgeData*, size_t*)
CALL(Status, cuGraphNodeGetType, GraphNode, int*)
CALL(Status, cuGraphKernelNodeGetParams_v2, GraphNode, DriverKernelNode*)
CALL(Status, cuGraphKernelNodeGetAttribute, GraphNode, int, void*)
CALL(Status, cuGraphAddKernelNode_v2, GraphNode*, Graph, const GraphNode*, size_t, const DriverKernelNode*)
CALL(Status, cuGraphMemcpyNodeGetParams, GraphNode, NodeParameters*)
CALL(Status, cuGraphMemsetNodeGetParams, GraphNode, NodeParameters*)
CALL(Status, cuGraphHostNodeGetParams, GraphNode, NodeParameters*)
CALL(Status, cuGraphAddMemcpyNode, GraphNode*, Graph, const GraphNode*, size_t, const NodeParameters*, Context)
CALL(Status, cuGraphAddMemsetNode, GraphNode*, Graph, const GraphNode*, size_t, const NodeParameters*, Context)
CALL(Status, cuGraphAddHostNode, GraphNode*, Graph, const GraphNode*, size_t, const NodeParameters*)
CALL(Status, cuGraphEventRecordNodeGetEvent, GraphNode, Event*)
CALL(Status, cuGraphEventWaitNodeGetEvent, GraphNode, Event*)
CALL(Status, cuGraphAddEventRecordNode, GraphNode*, Graph, const GraphNode*, size_t, Event)
CALL(Status, cuGraphAddEventWaitNode, GraphNode*, Graph, const GraphNode*, size_t, Event)
CALL(Status, cuGraphExecKernelNodeSetParams_v2, GraphExec, GraphNode, const DriverKernelNode*)
CALL(Status, cuLaunchKernelEx, const DriverLaunchConfig*, const void*, void**, void**)

namespace {

// Edges that let a kernel begin before another one has ended have data, of which older drivers know nothing; a kernel
// that begins later than it may does the same.
int get_edges(Graph graph, GraphNode* from, GraphNode* to, size_t* count) {
  std::vector<EdgeData> data(*count);
  Status status = next::cuGraphGetEdges_v2(graph, from, to, from ? data.data() : nullptr, count);
  return status == kNotSupported ? next::cuGraphGetEdges(graph, from, to, count) : status;
}

constinit const GraphCalls all_calls{devices, kDriver, "cu", get_edges};

// By whichever interface it was added: the driver has all.
DriverKernelNode parameters_of(GraphNode node) {
  DriverKernelNode parameters{};
  need(next::cuGraphKernelNodeGetParams_v2(node, &parameters));
  if (parameters.kernel) parameters.function = parameters.kernel;
  return parameters;
}

CudaGraphs::Kernel kernel_of(GraphNode node) {
  CudaGraphs::Kernel kernel;
  kernel.node = parameters_of(node);
  unsigned value[16] = {};
  // Older drivers do not know of it.
  const bool known = next::cuGraphKernelNodeGetAttribute(node, kLaunchDeviceUpdatable, value) == kSuccess;
  if (known && value[0]) throw GraphTrouble("kernels change the graph while it runs");
  value[0] = 0;
  need(next::cuGraphKernelNodeGetAttribute(node, kLaunchCooperative, value));
  kernel.cooperative = value[0] != 0;
  value[0] = value[1] = value[2] = 0;
  need(next::cuGraphKernelNodeGetAttribute(node, kLaunchClusterDimension, value));
  if (value[0] && value[1] && value[2]) kernel.cluster = {value[0], value[1], value[2]};
  return kernel;
}

// A graph that does what one node of another does; `add` adds that to a graph.
template <class AddNode>
GraphExec graph_of(const AddNode& add) {
  Graph graph = nullptr;
  GraphExec ready = nullptr;
  need(all_calls.create(&graph, 0));
  Status status = add(graph);
  if (status == kSuccess) status = next::cuGraphInstantiateWithFlags(&ready, graph, 0);
  all_calls.destroy(graph);
  need(status);
  return ready;
}

// By its parameters, or its event.
template <class What, class Get, class Add>
GraphExec alone(GraphNode node, What what, const Get& get, const Add& add) {
  GraphNode made = nullptr;
  need(get(node, &what));
  return graph_of([&](Graph graph) {
    if constexpr (std::is_pointer_v<What>)
      return add(&made, graph, nullptr, 0, what);
    else
      return add(&made, graph, nullptr, 0, &what);
  });
}

// In the thread's context, which the driver wants to know of nodes that the runtime adds without.
template <const auto& add>
constexpr auto add_here =
    [](GraphNode* node, Graph graph, const GraphNode* before, size_t count, const NodeParameters* parameters) {
      const OnDevice here;
      return add(node, graph, before, count, parameters, devices.context());
    };

GraphExec alone(GraphNode node) {
  int type = -1;
  need(next::cuGraphNodeGetType(node, &type));
  switch (type) {
    case kCopyNode:
      return alone(node, NodeParameters{}, next::cuGraphMemcpyNodeGetParams, add_here<next::cuGraphAddMemcpyNode>);
    case kFillNode:
      return alone(node, NodeParameters{}, next::cuGraphMemsetNodeGetParams, add_here<next::cuGraphAddMemsetNode>);
    case kHostNode:
      return alone(node, NodeParameters{}, next::cuGraphHostNodeGetParams, next::cuGraphAddHostNode);
    case kRecordNode:
      return alone(node, Event(), next::cuGraphEventRecordNodeGetEvent, next::cuGraphAddEventRecordNode);
    default:
      return alone(node, Event(), next::cuGraphEventWaitNodeGetEvent, next::cuGraphAddEventWaitNode);
  }
}

Status launch_kernel(const CudaGraphs::Kernel& kernel, Stream stream) {
  const DriverKernelNode& k = kernel.node;
  const Dimensions& cluster = kernel.cluster;
  LaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (kernel.cooperative) attributes[count++] = {kLaunchCooperative, 0, {1}};
  if (cluster.x * cluster.y * cluster.z > 1) {
    attributes[count++] = {kLaunchClusterDimension, 0, {cluster.x, cluster.y, cluster.z}};
  }
  DriverLaunchConfig config{k.grid, k.block, k.shared, stream, attributes, count};
  return next::cuLaunchKernelEx(&config, k.function, k.arguments, k.extra);
}

LaunchRequest request_of_kernel(const CudaGraphs::Kernel& kernel, Stream stream) {
  const DriverKernelNode& node = kernel.node;
  LaunchRequest request = record::request_of(function_of(node.function), node.grid, node.block, node.shared, stream,
                                             arguments_of(node.arguments, node.extra, kParameterEnd));
  request.cooperative = kernel.cooperative;
  request.cluster = {kernel.cluster.x, kernel.cluster.y, kernel.cluster.z};
  return request;
}

}  // namespace

const GraphCalls& CudaGraphs::calls() { return all_calls; }

NodeKind CudaGraphs::kind_of(GraphNode node) {
  int type = -1;
  need(next::cuGraphNodeGetType(node, &type));
  switch (type) {
    case kKernelNode:
      return NodeKind::kKernel;
    case kCopyNode:
    case kFillNode:
    case kHostNode:
    case kRecordNode:
    case kWaitNode:
      return NodeKind::kOther;
    case kGraphNode:
      return NodeKind::kGraph;
    case kEmptyNode:
      return NodeKind::kEmpty;
    case kAllocationNode:
    case kFreeNode:
      return NodeKind::kMemory;
    case kConditionNode:
      return NodeKind::kCondition;
    default:
      return NodeKind::kForeign;
  }
}

CudaGraphs::Step CudaGraphs::step_of(Graph, GraphNode node, NodeKind kind) {
  if (kind == NodeKind::kKernel) return {.node = node, .kernel = kernel_of(node)};
  return {.node = node, .alone = alone(node)};
}

LaunchRequest CudaGraphs::request_of(const Step& step, Stream stream) {
  return request_of_kernel(*step.kernel, stream);
}

LaunchRequest CudaGraphs::request_of(GraphNode node) { return request_of_kernel(kernel_of(node), nullptr); }

Status CudaGraphs::set_kernel(GraphExec ready, GraphNode node, const LaunchRequest& request, void* function) {
  DriverKernelNode changed = parameters_of(node);
  changed.function = function;
  changed.kernel = nullptr;
  changed.grid = {request.grid.x, request.grid.y, request.grid.z};
  changed.block = {request.block.x, request.block.y, request.block.z};
  changed.shared = request.shared_bytes;
  return next::cuGraphExecKernelNodeSetParams_v2(ready, node, &changed);
}

Status CudaGraphs::launch(const LaunchRequest& request, const Step& step, Stream stream) {
  return record::launch(cuda::runtime(), request, [&] { return launch_kernel(*step.kernel, stream); });
}

Graph CudaGraphs::own_graph() {
  Graph graph = nullptr;
  return all_calls.create(&graph, 0) == kSuccess ? graph : nullptr;
}

// The copy has the arguments, which the application's node may not have any more when it is launched.
CudaGraphs::Step CudaGraphs::copied_step(GraphNode node, Graph own) {
  Step step = step_of(nullptr, node, NodeKind::kKernel);
  DriverKernelNode parameters{};
  need(next::cuGraphKernelNodeGetParams_v2(node, &parameters));
  need(next::cuGraphAddKernelNode_v2(&step.node, own, nullptr, 0, &parameters));
  step.kernel->node = parameters_of(step.node);
  return step;
}

}  // namespace mneme::record::cuda
