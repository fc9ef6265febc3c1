// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of CUDA's runtime for graphs, as the application finds them first.
#include "recorder/cuda/graph_launch.h"

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
constinit Next<Error(GraphNode, const KernelNode*)> next_set_copys_kernel(kLibrary, "cudaGraphKernelNodeSetParams");
using Set = Next<Error(GraphExec, GraphNode, const void*)>;
constinit Set next_set(kLibrary, "cudaGraphExecNodeSetParams");
constinit Set next_set_copy(kLibrary, "cudaGraphExecMemcpyNodeSetParams");
constinit Set next_set_fill(kLibrary, "cudaGraphExecMemsetNodeSetParams");
constinit Set next_set_host(kLibrary, "cudaGraphExecHostNodeSetParams");
constinit Set next_set_child(kLibrary, "cudaGraphExecChildGraphNodeSetParams");
constinit Set next_set_record(kLibrary, "cudaGraphExecEventRecordNodeSetEvent");
constinit Set next_set_wait(kLibrary, "cudaGraphExecEventWaitNodeSetEvent");
constinit Next<Error(GraphExec, GraphNode, unsigned)> next_enable(kLibrary, "cudaGraphNodeSetEnabled");
constinit Next<Error(GraphExec, GraphNode, void*, const void*, size_t, int)> next_set_copy_1d(
    kLibrary, "cudaGraphExecMemcpyNodeSetParams1D");
constinit Next<Error(GraphExec, GraphNode, const void*, const void*, size_t, size_t, int)> next_set_to_symbol(
    kLibrary, "cudaGraphExecMemcpyNodeSetParamsToSymbol");
constinit Next<Error(GraphExec, GraphNode, void*, const void*, size_t, size_t, int)> next_set_from_symbol(
    kLibrary, "cudaGraphExecMemcpyNodeSetParamsFromSymbol");
constinit Next<Error(Stream, int)> next_begin_capture(kLibrary, "cudaStreamBeginCapture");
constinit Next<Error(Stream, int)> next_begin_capture_ptsz(kLibrary, "cudaStreamBeginCapture_ptsz");
using CaptureTo = Next<Error(Stream, Graph, const GraphNode*, const void*, size_t, int)>;
constinit CaptureTo next_capture_to(kLibrary, "cudaStreamBeginCaptureToGraph");
constinit CaptureTo next_capture_to_ptsz(kLibrary, "cudaStreamBeginCaptureToGraph_ptsz");
constinit Next<Error(Stream, Graph*)> next_end_capture(kLibrary, "cudaStreamEndCapture");
constinit Next<Error(Stream, Graph*)> next_end_capture_ptsz(kLibrary, "cudaStreamEndCapture_ptsz");

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
  unmade(ready);
  return next_destroy.call_or(kNotSupported, ready);
}

Error cudaGraphExecUpdate(GraphExec ready, Graph graph, void* result, void* more) {
  return made(next_update.call_or(kNotSupported, ready, graph, result, more), &ready, graph);
}

Error cudaGraphExecKernelNodeSetParams(GraphExec ready, GraphNode node, const KernelNode* parameters) {
  Error status = next_set_kernel.call_or(kNotSupported, ready, node, parameters);
  if (recorder() && status == kSuccess) {
    Graphs<CudaGraphs>::all().set_kernel(
        ready, node, [&](GraphNode ours) { return next_set_copys_kernel.call_or(kNotSupported, ours, parameters); });
  }
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

Error cudaGraphExecEventRecordNodeSetEvent(GraphExec ready, GraphNode node, Event event) {
  return set(next_set_record, ready, node, event);
}

Error cudaGraphExecEventWaitNodeSetEvent(GraphExec ready, GraphNode node, Event event) {
  return set(next_set_wait, ready, node, event);
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
  return end_capture(stream, [&] { return next_end_capture.call_or(kNotSupported, stream, graph); });
}

Error cudaStreamEndCapture_ptsz(Stream stream, Graph* graph) {
  return end_capture(per_thread(stream), [&] { return next_end_capture_ptsz.call_or(kNotSupported, stream, graph); });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::cuda
