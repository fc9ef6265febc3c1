// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda/graphs.h"

#include "recorder/cuda/graph_conditions.h"
#include "recorder/cuda/handles.h"
#include "recorder/cuda/launch.h"

namespace mneme::record::cuda {
namespace {

constinit Next<Error(Graph*, unsigned)> next_create(kLibrary, "cudaGraphCreate");
constinit Next<Error(GraphExec*, Graph, unsigned long long)> next_instantiate(kLibrary,
                                                                              "cudaGraphInstantiateWithFlags");
constinit Next<Error(GraphNode, KernelNode*)> next_get_kernel(kLibrary, "cudaGraphKernelNodeGetParams");
constinit Next<Error(GraphNode, int, void*)> next_get_attribute(kLibrary, "cudaGraphKernelNodeGetAttribute");
// The runtime's functions for these take other arguments in other versions.
constinit Next<Result(Graph, GraphNode*, GraphNode*, size_t*)> next_edges(kDriver, "cuGraphGetEdges");
constinit Next<Result(Graph, GraphNode*, GraphNode*, EdgeData*, size_t*)> next_edges_with_data(kDriver,
                                                                                               "cuGraphGetEdges_v2");
constinit Next<Result(GraphNode, int*)> next_type(kDriver, "cuGraphNodeGetType");
constinit Next<Result(GraphNode, DriverKernelNode*)> next_get_drivers(kDriver, "cuGraphKernelNodeGetParams_v2");

constinit Next<Error(GraphNode*, Graph, const GraphNode*, size_t, const KernelNode*)> next_add_kernel(
    kLibrary, "cudaGraphAddKernelNode");
constinit Next<Result(GraphNode*, Graph, const GraphNode*, size_t, const DriverKernelNode*)> next_add_drivers(
    kDriver, "cuGraphAddKernelNode_v2");

using Get = Next<Error(GraphNode, NodeParameters*)>;
using Add = Next<Error(GraphNode*, Graph, const GraphNode*, size_t, const NodeParameters*)>;
constinit Get next_get_copy(kLibrary, "cudaGraphMemcpyNodeGetParams");
constinit Get next_get_fill(kLibrary, "cudaGraphMemsetNodeGetParams");
constinit Get next_get_host(kLibrary, "cudaGraphHostNodeGetParams");
constinit Add next_add_copy(kLibrary, "cudaGraphAddMemcpyNode");
constinit Add next_add_fill(kLibrary, "cudaGraphAddMemsetNode");
constinit Add next_add_host(kLibrary, "cudaGraphAddHostNode");

using GetEvent = Next<Error(GraphNode, Event*)>;
using AddEvent = Next<Error(GraphNode*, Graph, const GraphNode*, size_t, Event)>;
constinit GetEvent next_get_record(kLibrary, "cudaGraphEventRecordNodeGetEvent");
constinit GetEvent next_get_wait(kLibrary, "cudaGraphEventWaitNodeGetEvent");
constinit AddEvent next_add_record(kLibrary, "cudaGraphAddEventRecordNode");
constinit AddEvent next_add_wait(kLibrary, "cudaGraphAddEventWaitNode");

constinit Next<Error(GraphExec, Stream)> next_launch(kLibrary, "cudaGraphLaunch");
constinit Next<Error(const void*, Dimensions, Dimensions, void**, size_t, Stream)> next_launch_kernel(
    kLibrary, "cudaLaunchKernel");
constinit Next<Error(const LaunchConfig*, const void*, void**)> next_launch_kernel_ex(kLibrary, "cudaLaunchKernelExC");
constinit Next<Result(const void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**,
                      void**)>
    next_launch_drivers(kDriver, "cuLaunchKernel");
constinit Next<Result(const DriverLaunchConfig*, const void*, void**, void**)> next_launch_drivers_ex(
    kDriver, "cuLaunchKernelEx");

// Edges that let a kernel begin before another one has ended have data, of which older drivers know nothing; a kernel
// that begins later than it may does the same.
int get_edges(Graph graph, GraphNode* from, GraphNode* to, size_t* count) {
  std::vector<EdgeData> data(*count);
  Result status = next_edges_with_data.call_or(kNotSupported, graph, from, to, from ? data.data() : nullptr, count);
  return status == kNotSupported ? next_edges.call_or(kNotSupported, graph, from, to, count) : status;
}

constinit const GraphCalls all_calls{
    .clone{kLibrary, "cudaGraphClone"},
    .find{kLibrary, "cudaGraphNodeFindInClone"},
    .destroy{kLibrary, "cudaGraphDestroy"},
    .destroy_ready{kLibrary, "cudaGraphExecDestroy"},
    .nodes{kDriver, "cuGraphGetNodes"},
    .edges = get_edges,
    .get_child{kLibrary, "cudaGraphChildGraphNodeGetGraph"},
    .last_error{kLibrary, "cudaGetLastError"},
    .create_event{kLibrary, "cudaEventCreateWithFlags"},
    .record_event{kLibrary, "cudaEventRecord"},
    .wait_for_event{kLibrary, "cudaStreamWaitEvent"},
    .destroy_event{kLibrary, "cudaEventDestroy"},
    .synchronize{kLibrary, "cudaStreamSynchronize"},
    .synchronize_all{kLibrary, "cudaDeviceSynchronize"},
};

// The kernel as the application's runtime has it. What that does not know was added by the driver's functions, or by
// another runtime (a library may have its own): the driver knows it.
void ask_about_kernel(GraphNode node, CudaGraphs::Kernel& kernel) {
  if (next_get_kernel.call_or(kNotSupported, node, &kernel.node) == kSuccess) {
    Core* core = recorder();
    if (core && core->knows(function_of(kernel.node.function))) return;
  } else {
    all_calls.last_error.call_or(kNotSupported);
  }
  DriverKernelNode drivers{};
  need(next_get_drivers.call_or(kNotSupported, node, &drivers));
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
  if (next_get_attribute.call_or(kNotSupported, node, kLaunchDeviceUpdatable, value) != kSuccess) {
    all_calls.last_error.call_or(kNotSupported);  // older ones do not know of it
  } else if (value[0]) {
    throw GraphTrouble("kernels change the graph while it runs");
  }
  value[0] = 0;
  need(next_get_attribute.call_or(kNotSupported, node, kLaunchCooperative, value));
  kernel.cooperative = value[0] != 0;
  value[0] = value[1] = value[2] = 0;
  need(next_get_attribute.call_or(kNotSupported, node, kLaunchClusterDimension, value));
  if (value[0] && value[1] && value[2]) kernel.cluster = {value[0], value[1], value[2]};
  return kernel;
}

// A graph that does what one node of another does; `add` adds that to a graph.
template <class AddNode>
GraphExec graph_of(const AddNode& add) {
  Graph graph = nullptr;
  GraphExec ready = nullptr;
  need(next_create.call_or(kNotSupported, &graph, 0));
  Error status = add(graph);
  if (status == kSuccess) status = next_instantiate.call_or(kNotSupported, &ready, graph, 0);
  all_calls.destroy.call_or(kNotSupported, graph);
  need(status);
  return ready;
}

GraphExec alone(GraphNode node, const Get& get, const Add& add) {
  NodeParameters parameters{};
  need(get.call_or(kNotSupported, node, &parameters));
  GraphNode made = nullptr;
  return graph_of([&](Graph graph) { return add.call_or(kNotSupported, &made, graph, nullptr, 0, &parameters); });
}

GraphExec alone(GraphNode node, const GetEvent& get, const AddEvent& add) {
  Event event = nullptr;
  GraphNode made = nullptr;
  need(get.call_or(kNotSupported, node, &event));
  return graph_of([&](Graph graph) { return add.call_or(kNotSupported, &made, graph, nullptr, 0, event); });
}

GraphExec alone(GraphNode node) {
  int type = -1;
  need(next_type.call_or(kNotSupported, node, &type));
  switch (type) {
    case kCopyNode:
      return alone(node, next_get_copy, next_add_copy);
    case kFillNode:
      return alone(node, next_get_fill, next_add_fill);
    case kHostNode:
      return alone(node, next_get_host, next_add_host);
    case kRecordNode:
      return alone(node, next_get_record, next_add_record);
    default:
      return alone(node, next_get_wait, next_add_wait);
  }
}

Error launch_kernel(const CudaGraphs::Kernel& kernel, Stream stream) {
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
      return next_launch_drivers.call_or(kNotSupported, k.function, k.grid.x, k.grid.y, k.grid.z, k.block.x, k.block.y,
                                         k.block.z, k.shared, stream, k.arguments, k.extra);
    }
    DriverLaunchConfig config{k.grid, k.block, k.shared, stream, attributes, count};
    return next_launch_drivers_ex.call_or(kNotSupported, &config, k.function, k.arguments, k.extra);
  }
  if (count == 0) {
    return next_launch_kernel.call_or(kNotSupported, k.function, k.grid, k.block, k.arguments, k.shared, stream);
  }
  LaunchConfig config{k.grid, k.block, k.shared, stream, attributes, count};
  return next_launch_kernel_ex.call_or(kNotSupported, &config, k.function, k.arguments);
}

}  // namespace

const GraphCalls& CudaGraphs::calls() { return all_calls; }

NodeKind CudaGraphs::kind_of(GraphNode node) {
  int type = -1;
  need(next_type.call_or(kNotSupported, node, &type));
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
  constexpr uintptr_t kEnd = 0;  // CU_LAUNCH_PARAM_END
  const KernelNode& node = step.kernel->node;
  LaunchRequest request =
      cuda::request_of(function_of(node.function), node.grid, node.block, node.arguments, node.shared, stream);
  if (step.kernel->drivers) request.arguments = arguments_of(node.arguments, node.extra, kEnd);
  request.cooperative = step.kernel->cooperative;
  request.cluster = dimensions(step.kernel->cluster);
  return request;
}

Error CudaGraphs::launch(const LaunchRequest& request, const Step& step, Stream stream) {
  return cuda::launch(request, [&] { return launch_kernel(*step.kernel, stream); });
}

Graph CudaGraphs::own_graph() {
  Graph graph = nullptr;
  return next_create.call_or(kNotSupported, &graph, 0) == kSuccess ? graph : nullptr;
}

// The copy has the arguments, which the application's node may not have any more when it is launched.
CudaGraphs::Step CudaGraphs::copied_step(GraphNode node, Graph own) {
  Step step = step_of(nullptr, node, NodeKind::kKernel);
  KernelNode& kernel = step.kernel->node;
  if (step.kernel->drivers) {
    DriverKernelNode drivers{};
    need(next_get_drivers.call_or(kNotSupported, node, &drivers));
    need(next_add_drivers.call_or(kNotSupported, &step.node, own, nullptr, 0, &drivers));
    need(next_get_drivers.call_or(kNotSupported, step.node, &drivers));
    kernel.arguments = drivers.arguments;
    kernel.extra = drivers.extra;
  } else {
    need(next_add_kernel.call_or(kNotSupported, &step.node, own, nullptr, 0, &kernel));
    need(next_get_kernel.call_or(kNotSupported, step.node, &kernel));
  }
  return step;
}

std::optional<GraphDecision> CudaGraphs::decision_of(GraphNode node) { return cuda::decision_of(node); }

Error CudaGraphs::get_value(const GraphDecision& decision, Stream stream, unsigned* value) {
  return cuda::get_value(decision, stream, value);
}

void CudaGraphs::begin(GraphExec ready, Stream stream, bool whole) { begin_conditions(ready, stream, whole); }

Error CudaGraphs::perform(GraphExec alone, Stream stream) { return change(next_launch, alone, stream); }

}  // namespace mneme::record::cuda
