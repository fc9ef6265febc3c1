// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA's functions for graphs, as the application finds them first. A graph with kernels that are to be recorded is
// done node by node; one whose kernels are only counted is launched as it is.
#include "recorder/cuda_graphs.h"
#include "recorder/cuda_handles.h"
#include "recorder/cuda_launch.h"

namespace mneme::record::cuda {
namespace {

constinit Next<Error(GraphExec, Stream)> next_launch(kLibrary, "cudaGraphLaunch");
constinit Next<Error(GraphExec, Stream)> next_launch_ptsz(kLibrary, "cudaGraphLaunch_ptsz");
// Older versions have more arguments.
constinit Next<Error(GraphExec*, Graph, unsigned long long, void*, size_t)> next_instantiate(kLibrary,
                                                                                             "cudaGraphInstantiate");
constinit Next<Error(GraphExec*, Graph, unsigned long long)> next_instantiate_flags(kLibrary,
                                                                                    "cudaGraphInstantiateWithFlags");
constinit Next<Error(GraphExec*, Graph, void*)> next_instantiate_params(kLibrary, "cudaGraphInstantiateWithParams");
constinit Next<Error(GraphExec*, Graph, void*)> next_instantiate_params_ptsz(kLibrary,
                                                                             "cudaGraphInstantiateWithParams_ptsz");
constinit Next<Error(GraphExec)> next_destroy(kLibrary, "cudaGraphExecDestroy");
constinit Next<Error(GraphExec, Graph, void*, void*)> next_update(kLibrary, "cudaGraphExecUpdate");
constinit Next<Error(GraphExec, GraphNode, const KernelNode*)> next_set_kernel(kLibrary,
                                                                               "cudaGraphExecKernelNodeSetParams");
using Set = Next<Error(GraphExec, GraphNode, const void*)>;
constinit Set next_set(kLibrary, "cudaGraphExecNodeSetParams");
constinit Set next_set_copy(kLibrary, "cudaGraphExecMemcpyNodeSetParams");
constinit Set next_set_fill(kLibrary, "cudaGraphExecMemsetNodeSetParams");
constinit Set next_set_host(kLibrary, "cudaGraphExecHostNodeSetParams");
constinit Set next_set_child(kLibrary, "cudaGraphExecChildGraphNodeSetParams");
constinit Next<Error(GraphExec, GraphNode, unsigned)> next_enable(kLibrary, "cudaGraphNodeSetEnabled");
constinit Next<Error(GraphExec, GraphNode, void*, const void*, size_t, int)> next_set_copy_1d(
    kLibrary, "cudaGraphExecMemcpyNodeSetParams1D");
constinit Next<Error(GraphExec, GraphNode, const void*, const void*, size_t, size_t, int)> next_set_to_symbol(
    kLibrary, "cudaGraphExecMemcpyNodeSetParamsToSymbol");
constinit Next<Error(GraphExec, GraphNode, void*, const void*, size_t, size_t, int)> next_set_from_symbol(
    kLibrary, "cudaGraphExecMemcpyNodeSetParamsFromSymbol");
constinit Next<Error(const void*, Dimensions, Dimensions, void**, size_t, Stream)> next_launch_kernel(
    kLibrary, "cudaLaunchKernel");
constinit Next<Error(const LaunchConfig*, const void*, void**)> next_launch_kernel_ex(kLibrary, "cudaLaunchKernelExC");
constinit Next<Error(Stream, int)> next_begin_capture(kLibrary, "cudaStreamBeginCapture");
constinit Next<Error(Stream, int)> next_begin_capture_ptsz(kLibrary, "cudaStreamBeginCapture_ptsz");
using CaptureTo = Next<Error(Stream, Graph, const GraphNode*, const void*, size_t, int)>;
constinit CaptureTo next_capture_to(kLibrary, "cudaStreamBeginCaptureToGraph");
constinit CaptureTo next_capture_to_ptsz(kLibrary, "cudaStreamBeginCaptureToGraph_ptsz");
constinit Next<Error(Stream, Graph*)> next_end_capture(kLibrary, "cudaStreamEndCapture");
constinit Next<Result(Stream, int)> next_begin(kDriver, "cuStreamBeginCapture_v2");
constinit Next<Result(Stream, int)> next_begin_ptsz(kDriver, "cuStreamBeginCapture_v2_ptsz");
constinit Next<Result(Stream, Graph*)> next_end(kDriver, "cuStreamEndCapture");
constinit Next<Result(Stream, Graph*)> next_end_ptsz(kDriver, "cuStreamEndCapture_ptsz");
constinit Next<Result(GraphExec, Stream)> next_driver_launch(kDriver, "cuGraphLaunch");
constinit Next<Result(GraphExec, Stream)> next_driver_launch_ptsz(kDriver, "cuGraphLaunch_ptsz");
constinit Next<Error(Stream, Graph*)> next_end_capture_ptsz(kLibrary, "cudaStreamEndCapture_ptsz");

Error begun(Error status) {
  if (status == kSuccess) ++runtime().captures;
  return status;
}

// What was noted down in vain has ended, too; where it is the wrong stream or thread, nothing has.
template <class Real>
Error ended(const Real& real) {
  constexpr Error kInvalidated = 901, kUnjoined = 904;  // cudaErrorStreamCapture…
  Error status = real();
  bool over = status == kSuccess || status == kInvalidated || status == kUnjoined;
  if (over && runtime().captures.load() > 0) --runtime().captures;
  return status;
}

Error made(Error status, GraphExec* ready, Graph graph) {
  Core* core = recorder();
  if (core && core->recording() && status == kSuccess) Graphs::all().add(*ready, graph);
  return status;
}

// What nodes other than kernels' do now is not what they did when the graph was made ready.
template <class... Parameters, class... Arguments>
Error set(const Next<Error(GraphExec, GraphNode, Parameters...)>& next, GraphExec ready, GraphNode node,
          Arguments... arguments) {
  Error status = next.call_or(kNotSupported, ready, node, arguments...);
  if (recorder() && status == kSuccess) {
    Graphs::all().lose(ready, "a node that is no kernel's was changed after the graph was made ready");
  }
  return status;
}

LaunchRequest request_of(const GraphStep& step, Stream stream) {
  const KernelNode& kernel = step.kernel;
  LaunchRequest request = cuda::request_of(Handles::all().function(kernel.function), kernel.grid, kernel.block,
                                           kernel.arguments, kernel.shared, stream);
  request.cooperative = step.cooperative;
  request.cluster = dimensions(step.cluster);
  return request;
}

Error launch_kernel(const GraphStep& step, Stream stream) {
  const KernelNode& kernel = step.kernel;
  const Dimensions& cluster = step.cluster;
  LaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (step.cooperative) attributes[count++] = {kLaunchCooperative, 0, {1}};
  if (cluster.x * cluster.y * cluster.z > 1) {
    attributes[count++] = {kLaunchClusterDimension, 0, {cluster.x, cluster.y, cluster.z}};
  }
  if (count == 0) {
    return next_launch_kernel.call_or(kNotSupported, kernel.function, kernel.grid, kernel.block, kernel.arguments,
                                      kernel.shared, stream);
  }
  LaunchConfig config{kernel.grid, kernel.block, kernel.shared, stream, attributes, count};
  return next_launch_kernel_ex.call_or(kNotSupported, &config, kernel.function, kernel.arguments);
}

// Empty: all kernels are launched as the plan says.
std::string trouble_of(Core& core, const GraphPlan* plan) {
  if (!plan) return "the graph was made ready before recording began";
  if (!plan->trouble.empty()) return plan->trouble;
  for (const GraphStep& step : plan->steps) {
    if (step.other) continue;
    if (!step.kernel.arguments && step.kernel.extra) return "a kernel in the graph has its arguments in one buffer";
    if (!core.knows(Handles::all().function(step.kernel.function))) return "a kernel in the graph was never registered";
  }
  return {};
}

template <class Real>
Error launch_graph(GraphExec ready, Stream stream, const Real& real) {
  Core* core = recorder();
  if (!core || runtime().notes_down(stream)) return real();
  std::shared_ptr<const GraphPlan> plan = core->recording() ? Graphs::all().plan(ready) : nullptr;
  std::string trouble = trouble_of(*core, plan.get());
  if (!trouble.empty()) return core->pass("(graph)", trouble.c_str(), real);
  std::vector<LaunchRequest> requests;
  for (const GraphStep& step : plan->steps) {
    if (!step.other) requests.push_back(request_of(step, stream));
  }
  if (core->count_settled(requests)) return real();
  auto request = requests.begin();
  for (const GraphStep& step : plan->steps) {
    Error status = step.other ? change(next_launch, step.other, stream)
                              : launch(*request++, [&] { return launch_kernel(step, stream); });
    if (status != kSuccess) return status;
  }
  return kSuccess;
}

template <class Real>
Result pass_graph(Stream stream, const Real& real) {
  Core* core = recorder();
  if (!core || runtime().notes_down(stream)) return real();
  return core->pass("(graph)", "graphs of the driver's interface are not recorded", real);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Error cudaGraphLaunch(GraphExec ready, Stream stream) {
  return launch_graph(ready, stream, [&] { return next_launch.call_or(kNotSupported, ready, stream); });
}

Error cudaGraphLaunch_ptsz(GraphExec ready, Stream stream) {
  return launch_graph(ready, per_thread(stream),
                      [&] { return next_launch_ptsz.call_or(kNotSupported, ready, stream); });
}

Error cudaGraphInstantiate(GraphExec* ready, Graph graph, unsigned long long flags, void* more, size_t size) {
  return made(next_instantiate.call_or(kNotSupported, ready, graph, flags, more, size), ready, graph);
}

Error cudaGraphInstantiateWithFlags(GraphExec* ready, Graph graph, unsigned long long flags) {
  return made(next_instantiate_flags.call_or(kNotSupported, ready, graph, flags), ready, graph);
}

Error cudaGraphInstantiateWithParams(GraphExec* ready, Graph graph, void* parameters) {
  return made(next_instantiate_params.call_or(kNotSupported, ready, graph, parameters), ready, graph);
}

Error cudaGraphInstantiateWithParams_ptsz(GraphExec* ready, Graph graph, void* parameters) {
  return made(next_instantiate_params_ptsz.call_or(kNotSupported, ready, graph, parameters), ready, graph);
}

Error cudaGraphExecDestroy(GraphExec ready) {
  if (recorder()) Graphs::all().remove(ready);
  return next_destroy.call_or(kNotSupported, ready);
}

Error cudaGraphExecUpdate(GraphExec ready, Graph graph, void* result, void* more) {
  return made(next_update.call_or(kNotSupported, ready, graph, result, more), &ready, graph);
}

Error cudaGraphExecKernelNodeSetParams(GraphExec ready, GraphNode node, const KernelNode* parameters) {
  Error status = next_set_kernel.call_or(kNotSupported, ready, node, parameters);
  if (recorder() && status == kSuccess) Graphs::all().set_kernel(ready, node, parameters);
  return status;
}

Error cudaGraphExecNodeSetParams(GraphExec ready, GraphNode node, const void* parameters) {
  return set(next_set, ready, node, parameters);
}

Error cudaGraphExecMemcpyNodeSetParams(GraphExec ready, GraphNode node, const void* parameters) {
  return set(next_set_copy, ready, node, parameters);
}

Error cudaGraphExecMemcpyNodeSetParams1D(GraphExec ready, GraphNode node, void* to, const void* from, size_t size,
                                         int kind) {
  return set(next_set_copy_1d, ready, node, to, from, size, kind);
}

Error cudaGraphExecMemcpyNodeSetParamsToSymbol(GraphExec ready, GraphNode node, const void* to, const void* from,
                                               size_t size, size_t offset, int kind) {
  return set(next_set_to_symbol, ready, node, to, from, size, offset, kind);
}

Error cudaGraphExecMemcpyNodeSetParamsFromSymbol(GraphExec ready, GraphNode node, void* to, const void* from,
                                                 size_t size, size_t offset, int kind) {
  return set(next_set_from_symbol, ready, node, to, from, size, offset, kind);
}

Error cudaGraphExecMemsetNodeSetParams(GraphExec ready, GraphNode node, const void* parameters) {
  return set(next_set_fill, ready, node, parameters);
}

Error cudaGraphExecHostNodeSetParams(GraphExec ready, GraphNode node, const void* parameters) {
  return set(next_set_host, ready, node, parameters);
}

Error cudaGraphExecChildGraphNodeSetParams(GraphExec ready, GraphNode node, const void* graph) {
  return set(next_set_child, ready, node, graph);
}

Error cudaGraphNodeSetEnabled(GraphExec ready, GraphNode node, unsigned enabled) {
  return set(next_enable, ready, node, enabled);
}

Error cudaStreamBeginCapture(Stream stream, int mode) {
  return begun(next_begin_capture.call_or(kNotSupported, stream, mode));
}

Error cudaStreamBeginCapture_ptsz(Stream stream, int mode) {
  return begun(next_begin_capture_ptsz.call_or(kNotSupported, stream, mode));
}

Error cudaStreamBeginCaptureToGraph(Stream stream, Graph graph, const GraphNode* after, const void* edges, size_t count,
                                    int mode) {
  return begun(next_capture_to.call_or(kNotSupported, stream, graph, after, edges, count, mode));
}

Error cudaStreamBeginCaptureToGraph_ptsz(Stream stream, Graph graph, const GraphNode* after, const void* edges,
                                         size_t count, int mode) {
  return begun(next_capture_to_ptsz.call_or(kNotSupported, stream, graph, after, edges, count, mode));
}

Error cudaStreamEndCapture(Stream stream, Graph* graph) {
  return ended([&] { return next_end_capture.call_or(kNotSupported, stream, graph); });
}

Error cudaStreamEndCapture_ptsz(Stream stream, Graph* graph) {
  return ended([&] { return next_end_capture_ptsz.call_or(kNotSupported, stream, graph); });
}

// ---- the driver's ----

Result cuStreamBeginCapture_v2(Stream stream, int mode) {
  return begun(next_begin.call_or(kNotSupported, stream, mode));
}

Result cuStreamBeginCapture_v2_ptsz(Stream stream, int mode) {
  return begun(next_begin_ptsz.call_or(kNotSupported, stream, mode));
}

Result cuStreamEndCapture(Stream stream, Graph* graph) {
  return ended([&] { return next_end.call_or(kNotSupported, stream, graph); });
}

Result cuStreamEndCapture_ptsz(Stream stream, Graph* graph) {
  return ended([&] { return next_end_ptsz.call_or(kNotSupported, stream, graph); });
}

Result cuGraphLaunch(GraphExec ready, Stream stream) {
  return pass_graph(stream, [&] { return next_driver_launch.call_or(kNotSupported, ready, stream); });
}

Result cuGraphLaunch_ptsz(GraphExec ready, Stream stream) {
  return pass_graph(per_thread(stream), [&] { return next_driver_launch_ptsz.call_or(kNotSupported, ready, stream); });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::cuda
