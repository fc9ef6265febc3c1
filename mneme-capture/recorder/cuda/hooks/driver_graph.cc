// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of CUDA's driver for graphs, as the application finds them first.
#include "recorder/cuda/graph_launch.h"

namespace mneme::record::cuda {
namespace {

constinit Next<Result(GraphExec, Stream)> next_launch(kDriver, "cuGraphLaunch");
constinit Next<Result(GraphExec, Stream)> next_launch_ptsz(kDriver, "cuGraphLaunch_ptsz");
// The oldest have room for a log.
constinit Next<Result(GraphExec*, Graph, GraphNode*, char*, size_t)> next_instantiate(kDriver, "cuGraphInstantiate");
constinit Next<Result(GraphExec*, Graph, GraphNode*, char*, size_t)> next_instantiate_v2(kDriver,
                                                                                         "cuGraphInstantiate_v2");
constinit Next<Result(GraphExec*, Graph, unsigned long long)> next_instantiate_flags(kDriver,
                                                                                     "cuGraphInstantiateWithFlags");
constinit Next<Result(GraphExec*, Graph, void*)> next_instantiate_params(kDriver, "cuGraphInstantiateWithParams");
constinit Next<Result(GraphExec*, Graph, void*)> next_instantiate_params_ptsz(kDriver,
                                                                              "cuGraphInstantiateWithParams_ptsz");
constinit Next<Result(GraphExec)> next_destroy(kDriver, "cuGraphExecDestroy");
constinit Next<Result(GraphExec, Graph, GraphNode*, int*)> next_update(kDriver, "cuGraphExecUpdate");
constinit Next<Result(GraphExec, Graph, void*)> next_update_v2(kDriver, "cuGraphExecUpdate_v2");

// A kernel's parameters begin alike in both versions of these; the newer has more.
using SetKernel = Next<Result(GraphExec, GraphNode, const void*)>;
using SetCopysKernel = Next<Result(GraphNode, const void*)>;
constinit SetKernel next_set_kernel(kDriver, "cuGraphExecKernelNodeSetParams");
constinit SetKernel next_set_kernel_v2(kDriver, "cuGraphExecKernelNodeSetParams_v2");
constinit SetCopysKernel next_set_copys_kernel(kDriver, "cuGraphKernelNodeSetParams");
constinit SetCopysKernel next_set_copys_kernel_v2(kDriver, "cuGraphKernelNodeSetParams_v2");

using Set = Next<Result(GraphExec, GraphNode, const void*)>;
using SetIn = Next<Result(GraphExec, GraphNode, const void*, void*)>;  // a context
constinit Set next_set(kDriver, "cuGraphExecNodeSetParams");
constinit SetIn next_set_copy(kDriver, "cuGraphExecMemcpyNodeSetParams");
constinit SetIn next_set_fill(kDriver, "cuGraphExecMemsetNodeSetParams");
constinit Set next_set_host(kDriver, "cuGraphExecHostNodeSetParams");
constinit Set next_set_child(kDriver, "cuGraphExecChildGraphNodeSetParams");
constinit Set next_set_record(kDriver, "cuGraphExecEventRecordNodeSetEvent");
constinit Set next_set_wait(kDriver, "cuGraphExecEventWaitNodeSetEvent");
constinit Next<Result(GraphExec, GraphNode, unsigned)> next_enable(kDriver, "cuGraphNodeSetEnabled");

constinit Next<Result(Stream, int)> next_begin(kDriver, "cuStreamBeginCapture_v2");
constinit Next<Result(Stream, int)> next_begin_ptsz(kDriver, "cuStreamBeginCapture_v2_ptsz");
using CaptureTo = Next<Result(Stream, Graph, const GraphNode*, const void*, size_t, int)>;
constinit CaptureTo next_capture_to(kDriver, "cuStreamBeginCaptureToGraph");
constinit CaptureTo next_capture_to_ptsz(kDriver, "cuStreamBeginCaptureToGraph_ptsz");
constinit Next<Result(Stream, Graph*)> next_end(kDriver, "cuStreamEndCapture");
constinit Next<Result(Stream, Graph*)> next_end_ptsz(kDriver, "cuStreamEndCapture_ptsz");

Result set_kernel(const SetKernel& next, const SetCopysKernel& next_copys, GraphExec ready, GraphNode node,
                  const void* parameters) {
  Result status = next.call_or(kNotSupported, ready, node, parameters);
  if (recorder() && status == kSuccess) {
    Graphs<CudaGraphs>::all().set_kernel(
        ready, node, [&](GraphNode ours) { return next_copys.call_or(kNotSupported, ours, parameters); });
  }
  return status;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Result cuGraphLaunch(GraphExec ready, Stream stream) {
  return launch_graph(ready, stream, [&] { return next_launch.call_or(kNotSupported, ready, stream); });
}

Result cuGraphLaunch_ptsz(GraphExec ready, Stream stream) {
  return launch_graph(ready, per_thread(stream),
                      [&] { return next_launch_ptsz.call_or(kNotSupported, ready, stream); });
}

Result cuGraphInstantiate(GraphExec* ready, Graph graph, GraphNode* node, char* log, size_t size) {
  return made(next_instantiate.call_or(kNotSupported, ready, graph, node, log, size), ready, graph);
}

Result cuGraphInstantiate_v2(GraphExec* ready, Graph graph, GraphNode* node, char* log, size_t size) {
  return made(next_instantiate_v2.call_or(kNotSupported, ready, graph, node, log, size), ready, graph);
}

Result cuGraphInstantiateWithFlags(GraphExec* ready, Graph graph, unsigned long long flags) {
  return made(next_instantiate_flags.call_or(kNotSupported, ready, graph, flags), ready, graph);
}

Result cuGraphInstantiateWithParams(GraphExec* ready, Graph graph, void* parameters) {
  return made(next_instantiate_params.call_or(kNotSupported, ready, graph, parameters), ready, graph);
}

Result cuGraphInstantiateWithParams_ptsz(GraphExec* ready, Graph graph, void* parameters) {
  return made(next_instantiate_params_ptsz.call_or(kNotSupported, ready, graph, parameters), ready, graph);
}

Result cuGraphExecDestroy(GraphExec ready) {
  unmade(ready);
  return next_destroy.call_or(kNotSupported, ready);
}

Result cuGraphExecUpdate(GraphExec ready, Graph graph, GraphNode* node, int* result) {
  return made(next_update.call_or(kNotSupported, ready, graph, node, result), &ready, graph);
}

Result cuGraphExecUpdate_v2(GraphExec ready, Graph graph, void* result) {
  return made(next_update_v2.call_or(kNotSupported, ready, graph, result), &ready, graph);
}

Result cuGraphExecKernelNodeSetParams(GraphExec ready, GraphNode node, const void* parameters) {
  return set_kernel(next_set_kernel, next_set_copys_kernel, ready, node, parameters);
}

Result cuGraphExecKernelNodeSetParams_v2(GraphExec ready, GraphNode node, const void* parameters) {
  return set_kernel(next_set_kernel_v2, next_set_copys_kernel_v2, ready, node, parameters);
}

Result cuGraphExecNodeSetParams(GraphExec ready, GraphNode node, const void* parameters) {
  return set(next_set, ready, node, parameters);
}

Result cuGraphExecMemcpyNodeSetParams(GraphExec ready, GraphNode node, const void* parameters, void* context) {
  return set(next_set_copy, ready, node, parameters, context);
}

Result cuGraphExecMemsetNodeSetParams(GraphExec ready, GraphNode node, const void* parameters, void* context) {
  return set(next_set_fill, ready, node, parameters, context);
}

Result cuGraphExecHostNodeSetParams(GraphExec ready, GraphNode node, const void* parameters) {
  return set(next_set_host, ready, node, parameters);
}

Result cuGraphExecChildGraphNodeSetParams(GraphExec ready, GraphNode node, const void* graph) {
  return set(next_set_child, ready, node, graph);
}

Result cuGraphExecEventRecordNodeSetEvent(GraphExec ready, GraphNode node, Event event) {
  return set(next_set_record, ready, node, event);
}

Result cuGraphExecEventWaitNodeSetEvent(GraphExec ready, GraphNode node, Event event) {
  return set(next_set_wait, ready, node, event);
}

Result cuGraphNodeSetEnabled(GraphExec ready, GraphNode node, unsigned enabled) {
  return set(next_enable, ready, node, enabled);
}

Result cuStreamBeginCapture_v2(Stream stream, int mode) {
  return begun(next_begin.call_or(kNotSupported, stream, mode));
}

Result cuStreamBeginCapture_v2_ptsz(Stream stream, int mode) {
  return begun(next_begin_ptsz.call_or(kNotSupported, stream, mode));
}

Result cuStreamBeginCaptureToGraph(Stream stream, Graph graph, const GraphNode* after, const void* edges, size_t count,
                                   int mode) {
  return begun(next_capture_to.call_or(kNotSupported, stream, graph, after, edges, count, mode));
}

Result cuStreamBeginCaptureToGraph_ptsz(Stream stream, Graph graph, const GraphNode* after, const void* edges,
                                        size_t count, int mode) {
  return begun(next_capture_to_ptsz.call_or(kNotSupported, stream, graph, after, edges, count, mode));
}

Result cuStreamEndCapture(Stream stream, Graph* graph) {
  return end_capture(stream, [&] { return next_end.call_or(kNotSupported, stream, graph); });
}

Result cuStreamEndCapture_ptsz(Stream stream, Graph* graph) {
  return end_capture(per_thread(stream), [&] { return next_end_ptsz.call_or(kNotSupported, stream, graph); });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::cuda
