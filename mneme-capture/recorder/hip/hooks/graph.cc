// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The HIP functions for graphs. The stand-in does what a graph does by calling hooked functions for each kernel of it.
#include "recorder/hip/graphs.h"

namespace mneme::record::hip {
namespace {

constexpr auto launch = launch_graph<HipGraphs>;
constexpr auto instantiate = make_ready<HipGraphs>;
constexpr auto update = update_ready<HipGraphs>;
constexpr auto destroy = destroy_ready<HipGraphs>;
constexpr auto set = set_node<HipGraphs>;
constexpr auto end = end_capture<HipGraphs>;
template <const auto& change>
constexpr auto set_kernel_by = set_kernel<HipGraphs, change>;

}  // namespace

HOOK_SPT(launch, hipGraphLaunch, GraphExec, Stream)
HOOK(instantiate, hipGraphInstantiate, GraphExec*, Graph, GraphNode*, char*, size_t)
HOOK(instantiate, hipGraphInstantiateWithFlags, GraphExec*, Graph, unsigned long long)
HOOK(instantiate, hipGraphInstantiateWithParams, GraphExec*, Graph, void*)
HOOK(destroy, hipGraphExecDestroy, GraphExec)
HOOK(update, hipGraphExecUpdate, GraphExec, Graph, GraphNode*, int*)

CALL(Status, hipGraphKernelNodeSetParams, GraphNode, const void*)
HOOK(set_kernel_by<next::hipGraphKernelNodeSetParams>, hipGraphExecKernelNodeSetParams, GraphExec, GraphNode,
     const void*)
HOOK(set, hipGraphExecNodeSetParams, GraphExec, GraphNode, const void*)
HOOK(set, hipGraphExecMemcpyNodeSetParams, GraphExec, GraphNode, const void*)
HOOK(set, hipGraphExecMemcpyNodeSetParams1D, GraphExec, GraphNode, void*, const void*, size_t, int)
HOOK(set, hipGraphExecMemcpyNodeSetParamsToSymbol, GraphExec, GraphNode, const void*, const void*, size_t, size_t, int)
HOOK(set, hipGraphExecMemcpyNodeSetParamsFromSymbol, GraphExec, GraphNode, void*, const void*, size_t, size_t, int)
HOOK(set, hipGraphExecMemsetNodeSetParams, GraphExec, GraphNode, const void*)
HOOK(set, hipGraphExecHostNodeSetParams, GraphExec, GraphNode, const void*)
HOOK(set, hipGraphExecChildGraphNodeSetParams, GraphExec, GraphNode, const void*)
HOOK(set, hipGraphExecEventRecordNodeSetEvent, GraphExec, GraphNode, Event)
HOOK(set, hipGraphExecEventWaitNodeSetEvent, GraphExec, GraphNode, Event)
HOOK(set, hipDrvGraphExecMemcpyNodeSetParams, GraphExec, GraphNode, const void*, void*)
HOOK(set, hipDrvGraphExecMemsetNodeSetParams, GraphExec, GraphNode, const void*, void*)
HOOK(set, hipGraphNodeSetEnabled, GraphExec, GraphNode, unsigned)

HOOK_SPT(begin_capture, hipStreamBeginCapture, Stream, int)
HOOK(begin_capture, hipStreamBeginCaptureToGraph, Stream, Graph, const GraphNode*, const void*, size_t, int)
HOOK_SPT(end, hipStreamEndCapture, Stream, Graph*)

}  // namespace mneme::record::hip
