// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The HIP functions for graphs, as the application finds them first. The stand-in does what a graph does by calling the
// functions here for each kernel of it.
#include "recorder/hip/graphs.h"

namespace mneme::record::hip {
namespace {

constinit Next<Error(GraphExec, Stream)> next_launch(kLibrary, "hipGraphLaunch");
constinit Next<Error(GraphExec, Stream)> next_launch_spt(kLibrary, "hipGraphLaunch_spt");
constinit Next<Error(GraphExec*, Graph, GraphNode*, char*, size_t)> next_instantiate(kLibrary, "hipGraphInstantiate");
constinit Next<Error(GraphExec*, Graph, unsigned long long)> next_instantiate_flags(kLibrary,
                                                                                    "hipGraphInstantiateWithFlags");
constinit Next<Error(GraphExec*, Graph, void*)> next_instantiate_params(kLibrary, "hipGraphInstantiateWithParams");
constinit Next<Error(GraphExec)> next_destroy(kLibrary, "hipGraphExecDestroy");
constinit Next<Error(GraphExec, Graph, GraphNode*, int*)> next_update(kLibrary, "hipGraphExecUpdate");
constinit Next<Error(GraphExec, GraphNode, const KernelNode*)> next_set_kernel(kLibrary,
                                                                               "hipGraphExecKernelNodeSetParams");
constinit Next<Error(GraphNode, const KernelNode*)> next_set_copys_kernel(kLibrary, "hipGraphKernelNodeSetParams");
using Set = Next<Error(GraphExec, GraphNode, const void*)>;
constinit Set next_set(kLibrary, "hipGraphExecNodeSetParams");
constinit Set next_set_copy(kLibrary, "hipGraphExecMemcpyNodeSetParams");
constinit Set next_set_fill(kLibrary, "hipGraphExecMemsetNodeSetParams");
constinit Set next_set_host(kLibrary, "hipGraphExecHostNodeSetParams");
constinit Set next_set_child(kLibrary, "hipGraphExecChildGraphNodeSetParams");
constinit Set next_set_record(kLibrary, "hipGraphExecEventRecordNodeSetEvent");
constinit Set next_set_wait(kLibrary, "hipGraphExecEventWaitNodeSetEvent");
constinit Next<Error(GraphExec, GraphNode, const void*, void*)> next_set_drivers_copy(
    kLibrary, "hipDrvGraphExecMemcpyNodeSetParams");
constinit Next<Error(GraphExec, GraphNode, const void*, void*)> next_set_drivers_fill(
    kLibrary, "hipDrvGraphExecMemsetNodeSetParams");
constinit Next<Error(GraphExec, GraphNode, unsigned)> next_enable(kLibrary, "hipGraphNodeSetEnabled");
constinit Next<Error(GraphExec, GraphNode, void*, const void*, size_t, int)> next_set_copy_1d(
    kLibrary, "hipGraphExecMemcpyNodeSetParams1D");
constinit Next<Error(GraphExec, GraphNode, const void*, const void*, size_t, size_t, int)> next_set_to_symbol(
    kLibrary, "hipGraphExecMemcpyNodeSetParamsToSymbol");
constinit Next<Error(GraphExec, GraphNode, void*, const void*, size_t, size_t, int)> next_set_from_symbol(
    kLibrary, "hipGraphExecMemcpyNodeSetParamsFromSymbol");
constinit Next<Error(Stream, int)> next_begin_capture(kLibrary, "hipStreamBeginCapture");
constinit Next<Error(Stream, int)> next_begin_capture_spt(kLibrary, "hipStreamBeginCapture_spt");
constinit Next<Error(Stream, Graph, const GraphNode*, const void*, size_t, int)> next_capture_to(
    kLibrary, "hipStreamBeginCaptureToGraph");
constinit Next<Error(Stream, Graph*)> next_end_capture(kLibrary, "hipStreamEndCapture");
constinit Next<Error(Stream, Graph*)> next_end_capture_spt(kLibrary, "hipStreamEndCapture_spt");

// Null where the runtime's graphs are not taken apart.
Core* recorder() { return runtime().is_stand_in() ? nullptr : core(); }

Error made(Error status, GraphExec* ready, Graph graph) {
  return graph_made<HipGraphs>(recorder(), status, ready, graph);
}

// Calls a function that changes a node of one that is ready.
template <class... Parameters, class... Arguments>
Error set(const Next<Error(GraphExec, GraphNode, Parameters...)>& next, GraphExec ready, GraphNode node,
          Arguments... arguments) {
  return graph_changed<HipGraphs>(recorder(), next.call_or(kNotSupported, ready, node, arguments...), ready);
}

Error launch_graph(const Next<Error(GraphExec, Stream)>& next, GraphExec ready, Stream stream, Stream meant) {
  auto real = [&] { return next.call_or(kNotSupported, ready, stream); };
  Core* core = recorder();
  if (!core || runtime().notes_down(meant)) return real();
  return launch_graph_of<HipGraphs>(*core, ready, meant, real);
}

Error begun(Error status) {
  if (status == kSuccess) ++runtime().captures;
  return status;
}

Error end_capture(const Next<Error(Stream, Graph*)>& next, Stream stream, Graph* graph) {
  Error status = next.call_or(kNotSupported, stream, graph);
  if (has_capture_ended(status) && runtime().captures.load() > 0) --runtime().captures;
  return status;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Error hipGraphLaunch(GraphExec ready, Stream stream) { return launch_graph(next_launch, ready, stream, stream); }

Error hipGraphLaunch_spt(GraphExec ready, Stream stream) {
  return launch_graph(next_launch_spt, ready, stream, per_thread(stream));
}

Error hipGraphInstantiate(GraphExec* ready, Graph graph, GraphNode* wrong, char* log, size_t size) {
  return made(next_instantiate.call_or(kNotSupported, ready, graph, wrong, log, size), ready, graph);
}

Error hipGraphInstantiateWithFlags(GraphExec* ready, Graph graph, unsigned long long flags) {
  return made(next_instantiate_flags.call_or(kNotSupported, ready, graph, flags), ready, graph);
}

Error hipGraphInstantiateWithParams(GraphExec* ready, Graph graph, void* parameters) {
  return made(next_instantiate_params.call_or(kNotSupported, ready, graph, parameters), ready, graph);
}

Error hipGraphExecDestroy(GraphExec ready) {
  if (recorder()) Graphs<HipGraphs>::all().remove(ready);
  return next_destroy.call_or(kNotSupported, ready);
}

Error hipGraphExecUpdate(GraphExec ready, Graph graph, GraphNode* wrong, int* result) {
  return made(next_update.call_or(kNotSupported, ready, graph, wrong, result), &ready, graph);
}

Error hipGraphExecKernelNodeSetParams(GraphExec ready, GraphNode node, const KernelNode* parameters) {
  Error status = next_set_kernel.call_or(kNotSupported, ready, node, parameters);
  if (recorder() && status == kSuccess) {
    Graphs<HipGraphs>::all().set_kernel(
        ready, node, [&](GraphNode ours) { return next_set_copys_kernel.call_or(kNotSupported, ours, parameters); });
  }
  return status;
}

Error hipGraphExecNodeSetParams(GraphExec ready, GraphNode node, const void* parameters) {
  return set(next_set, ready, node, parameters);
}

Error hipGraphExecMemcpyNodeSetParams(GraphExec ready, GraphNode node, const void* parameters) {
  return set(next_set_copy, ready, node, parameters);
}

Error hipGraphExecMemcpyNodeSetParams1D(GraphExec ready, GraphNode node, void* to, const void* from, size_t size,
                                        int kind) {
  return set(next_set_copy_1d, ready, node, to, from, size, kind);
}

Error hipGraphExecMemcpyNodeSetParamsToSymbol(GraphExec ready, GraphNode node, const void* to, const void* from,
                                              size_t size, size_t offset, int kind) {
  return set(next_set_to_symbol, ready, node, to, from, size, offset, kind);
}

Error hipGraphExecMemcpyNodeSetParamsFromSymbol(GraphExec ready, GraphNode node, void* to, const void* from,
                                                size_t size, size_t offset, int kind) {
  return set(next_set_from_symbol, ready, node, to, from, size, offset, kind);
}

Error hipGraphExecMemsetNodeSetParams(GraphExec ready, GraphNode node, const void* parameters) {
  return set(next_set_fill, ready, node, parameters);
}

Error hipGraphExecHostNodeSetParams(GraphExec ready, GraphNode node, const void* parameters) {
  return set(next_set_host, ready, node, parameters);
}

Error hipGraphExecChildGraphNodeSetParams(GraphExec ready, GraphNode node, const void* graph) {
  return set(next_set_child, ready, node, graph);
}

Error hipGraphExecEventRecordNodeSetEvent(GraphExec ready, GraphNode node, Event event) {
  return set(next_set_record, ready, node, event);
}

Error hipGraphExecEventWaitNodeSetEvent(GraphExec ready, GraphNode node, Event event) {
  return set(next_set_wait, ready, node, event);
}

Error hipDrvGraphExecMemcpyNodeSetParams(GraphExec ready, GraphNode node, const void* parameters, void* context) {
  return set(next_set_drivers_copy, ready, node, parameters, context);
}

Error hipDrvGraphExecMemsetNodeSetParams(GraphExec ready, GraphNode node, const void* parameters, void* context) {
  return set(next_set_drivers_fill, ready, node, parameters, context);
}

Error hipGraphNodeSetEnabled(GraphExec ready, GraphNode node, unsigned enabled) {
  return set(next_enable, ready, node, enabled);
}

Error hipStreamBeginCapture(Stream stream, int mode) {
  return begun(next_begin_capture.call_or(kNotSupported, stream, mode));
}

Error hipStreamBeginCapture_spt(Stream stream, int mode) {
  return begun(next_begin_capture_spt.call_or(kNotSupported, stream, mode));
}

Error hipStreamBeginCaptureToGraph(Stream stream, Graph graph, const GraphNode* after, const void* edges, size_t count,
                                   int mode) {
  return begun(next_capture_to.call_or(kNotSupported, stream, graph, after, edges, count, mode));
}

Error hipStreamEndCapture(Stream stream, Graph* graph) { return end_capture(next_end_capture, stream, graph); }

Error hipStreamEndCapture_spt(Stream stream, Graph* graph) { return end_capture(next_end_capture_spt, stream, graph); }

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::hip
