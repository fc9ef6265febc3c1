// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda/graphs.h"

#include "recorder/cuda/handles.h"

namespace mneme::record::cuda {

CALL(Status, cudaGraphInstantiateWithFlags, GraphExec*, Graph, unsigned long long)
CALL(Status, cudaGraphKernelNodeGetParams, GraphNode, KernelNode*)
CALL(Status, cudaGraphKernelNodeGetAttribute, GraphNode, int, void*)
// The runtime's functions for these take other arguments in other versions.
CALL(Status, cuGraphGetEdges, Graph, GraphNode*, GraphNode*, size_t*)
CALL(Status, cuGraphGetEdges_v2, Graph, GraphNode*, GraphNode*, EdgeData*, size_t*)
CALL(Status, cuGraphNodeGetType, GraphNode, int*)
CALL(Status, cuGraphKernelNodeGetParams_v2, GraphNode, DriverKernelNode*)
CALL(Status, cudaGraphAddKernelNode, GraphNode*, Graph, const GraphNode*, size_t, const KernelNode*)
CALL(Status, cuGraphAddKernelNode_v2, GraphNode*, Graph, const GraphNode*, size_t, const DriverKernelNode*)
CALL(Status, cudaGraphMemcpyNodeGetParams, GraphNode, NodeParameters*)
CALL(Status, cudaGraphMemsetNodeGetParams, GraphNode, NodeParameters*)
CALL(Status, cudaGraphHostNodeGetParams, GraphNode, NodeParameters*)
CALL(Status, cudaGraphAddMemcpyNode, GraphNode*, Graph, const GraphNode*, size_t, const NodeParameters*)
CALL(Status, cudaGraphAddMemsetNode, GraphNode*, Graph, const GraphNode*, size_t, const NodeParameters*)
CALL(Status, cudaGraphAddHostNode, GraphNode*, Graph, const GraphNode*, size_t, const NodeParameters*)
CALL(Status, cudaGraphEventRecordNodeGetEvent, GraphNode, Event*)
CALL(Status, cudaGraphEventWaitNodeGetEvent, GraphNode, Event*)
CALL(Status, cudaGraphAddEventRecordNode, GraphNode*, Graph, const GraphNode*, size_t, Event)
CALL(Status, cudaGraphAddEventWaitNode, GraphNode*, Graph, const GraphNode*, size_t, Event)
CALL(Status, cudaLaunchKernel, const void*, Dimensions, Dimensions, void**, size_t, Stream)
CALL(Status, cudaLaunchKernelExC, const LaunchConfig*, const void*, void**)
CALL(Status, cuLaunchKernel, const void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream,
     void**, void**)
CALL(Status, cuLaunchKernelEx, const DriverLaunchConfig*, const void*, void**, void**)

namespace {

// Edges that let a kernel begin before another one has ended have data, of which older drivers know nothing; a kernel
// that begins later than it may does the same.
int get_edges(Graph graph, GraphNode* from, GraphNode* to, size_t* count) {
  std::vector<EdgeData> data(*count);
  Status status = next::cuGraphGetEdges_v2(graph, from, to, from ? data.data() : nullptr, count);
  return status == kNotSupported ? next::cuGraphGetEdges(graph, from, to, count) : status;
}

constinit const GraphCalls all_calls{devices.calls, kLibrary, "cuda", kDriver, "cu", get_edges};

// The kernel as the application's runtime has it. What that does not know was added by the driver's functions, or by
// another runtime (a library may have its own): the driver knows it.
void ask_about_kernel(GraphNode node, CudaGraphs::Kernel& kernel) {
  if (next::cudaGraphKernelNodeGetParams(node, &kernel.node) == kSuccess) {
    Core* core = recorder();
    if (core && core->knows(function_of(kernel.node.function))) return;
  } else {
    all_calls.others.get_last_error();
  }
  DriverKernelNode drivers{};
  need(next::cuGraphKernelNodeGetParams_v2(node, &drivers));
  kernel.drivers = true;
  kernel.node = {drivers.function ? drivers.function : drivers.kernel,
                 drivers.grid,
                 drivers.block,
                 drivers.shared,
                 drivers.arguments,
                 drivers.extra};
}

CudaGraphs::Kernel kernel_of(GraphNode node) {
  CudaGraphs::Kernel kernel;
  ask_about_kernel(node, kernel);
  if (!kernel.drivers && !kernel.node.arguments && kernel.node.extra) {
    throw GraphTrouble("a kernel in the graph has its arguments in one buffer");
  }
  unsigned value[16] = {};
  if (next::cudaGraphKernelNodeGetAttribute(node, kLaunchDeviceUpdatable, value) != kSuccess) {
    all_calls.others.get_last_error();  // older ones do not know of it
  } else if (value[0]) {
    throw GraphTrouble("kernels change the graph while it runs");
  }
  value[0] = 0;
  need(next::cudaGraphKernelNodeGetAttribute(node, kLaunchCooperative, value));
  kernel.cooperative = value[0] != 0;
  value[0] = value[1] = value[2] = 0;
  need(next::cudaGraphKernelNodeGetAttribute(node, kLaunchClusterDimension, value));
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
  if (status == kSuccess) status = next::cudaGraphInstantiateWithFlags(&ready, graph, 0);
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

GraphExec alone(GraphNode node) {
  int type = -1;
  need(next::cuGraphNodeGetType(node, &type));
  switch (type) {
    case kCopyNode:
      return alone(node, NodeParameters{}, next::cudaGraphMemcpyNodeGetParams, next::cudaGraphAddMemcpyNode);
    case kFillNode:
      return alone(node, NodeParameters{}, next::cudaGraphMemsetNodeGetParams, next::cudaGraphAddMemsetNode);
    case kHostNode:
      return alone(node, NodeParameters{}, next::cudaGraphHostNodeGetParams, next::cudaGraphAddHostNode);
    case kRecordNode:
      return alone(node, Event(), next::cudaGraphEventRecordNodeGetEvent, next::cudaGraphAddEventRecordNode);
    default:
      return alone(node, Event(), next::cudaGraphEventWaitNodeGetEvent, next::cudaGraphAddEventWaitNode);
  }
}

Status launch_kernel(const CudaGraphs::Kernel& kernel, Stream stream) {
  const KernelNode& k = kernel.node;
  const Dimensions& cluster = kernel.cluster;
  LaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (kernel.cooperative) attributes[count++] = {kLaunchCooperative, 0, {1}};
  if (cluster.x * cluster.y * cluster.z > 1) {
    attributes[count++] = {kLaunchClusterDimension, 0, {cluster.x, cluster.y, cluster.z}};
  }
  if (kernel.drivers) {
    if (count == 0) {
      return next::cuLaunchKernel(k.function, k.grid.x, k.grid.y, k.grid.z, k.block.x, k.block.y, k.block.z, k.shared,
                                  stream, k.arguments, k.extra);
    }
    DriverLaunchConfig config{k.grid, k.block, k.shared, stream, attributes, count};
    return next::cuLaunchKernelEx(&config, k.function, k.arguments, k.extra);
  }
  if (count == 0) {
    return next::cudaLaunchKernel(k.function, k.grid, k.block, k.arguments, k.shared, stream);
  }
  LaunchConfig config{k.grid, k.block, k.shared, stream, attributes, count};
  return next::cudaLaunchKernelExC(&config, k.function, k.arguments);
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
  const KernelNode& node = step.kernel->node;
  const Arguments arguments = arguments_of(node.arguments, step.kernel->drivers ? node.extra : nullptr, kParameterEnd);
  LaunchRequest request =
      record::request_of(function_of(node.function), node.grid, node.block, node.shared, stream, arguments);
  request.cooperative = step.kernel->cooperative;
  request.cluster = {step.kernel->cluster.x, step.kernel->cluster.y, step.kernel->cluster.z};
  return request;
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
  KernelNode& kernel = step.kernel->node;
  if (step.kernel->drivers) {
    DriverKernelNode drivers{};
    need(next::cuGraphKernelNodeGetParams_v2(node, &drivers));
    need(next::cuGraphAddKernelNode_v2(&step.node, own, nullptr, 0, &drivers));
    need(next::cuGraphKernelNodeGetParams_v2(step.node, &drivers));
    kernel.arguments = drivers.arguments;
    kernel.extra = drivers.extra;
  } else {
    need(next::cudaGraphAddKernelNode(&step.node, own, nullptr, 0, &kernel));
    need(next::cudaGraphKernelNodeGetParams(step.node, &kernel));
  }
  return step;
}

}  // namespace mneme::record::cuda
