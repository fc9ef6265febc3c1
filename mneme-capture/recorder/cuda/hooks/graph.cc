// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of CUDA's runtime and of its driver for graphs that are ready to be launched, and that note graphs down
// from streams. Both have the same graphs.
#include "recorder/cuda/graphs.h"

namespace mneme::record::cuda {
namespace {

constexpr auto launch = launch_graph<CudaGraphs>;
constexpr auto instantiate = make_ready<CudaGraphs>;
constexpr auto update = update_ready<CudaGraphs>;
constexpr auto destroy = destroy_ready<CudaGraphs>;
constexpr auto set = set_node<CudaGraphs>;
constexpr auto end = end_capture<CudaGraphs>;
// As the function does that changes the node of a graph that is not ready.
template <const auto& change>
constexpr auto set_kernel_by = set_kernel<CudaGraphs, change>;

}  // namespace

// ---- the runtime's ----
HOOK_PTSZ(launch, cudaGraphLaunch, GraphExec, Stream)
// Older versions have more arguments.
HOOK(instantiate, cudaGraphInstantiate, GraphExec*, Graph, unsigned long long, void*, size_t)
HOOK(instantiate, cudaGraphInstantiateWithFlags, GraphExec*, Graph, unsigned long long)
HOOK_PTSZ(instantiate, cudaGraphInstantiateWithParams, GraphExec*, Graph, void*)
HOOK(destroy, cudaGraphExecDestroy, GraphExec)
HOOK(update, cudaGraphExecUpdate, GraphExec, Graph, void*, void*)

CALL(Status, cudaGraphKernelNodeSetParams, GraphNode, const void*)
HOOK(set_kernel_by<next::cudaGraphKernelNodeSetParams>, cudaGraphExecKernelNodeSetParams, GraphExec, GraphNode,
     const void*)
HOOK(set, cudaGraphExecNodeSetParams, GraphExec, GraphNode, const void*)
HOOK(set, cudaGraphExecMemcpyNodeSetParams, GraphExec, GraphNode, const void*)
HOOK(set, cudaGraphExecMemcpyNodeSetParams1D, GraphExec, GraphNode, void*, const void*, size_t, int)
HOOK(set, cudaGraphExecMemcpyNodeSetParamsToSymbol, GraphExec, GraphNode, const void*, const void*, size_t, size_t, int)
HOOK(set, cudaGraphExecMemcpyNodeSetParamsFromSymbol, GraphExec, GraphNode, void*, const void*, size_t, size_t, int)
HOOK(set, cudaGraphExecMemsetNodeSetParams, GraphExec, GraphNode, const void*)
HOOK(set, cudaGraphExecHostNodeSetParams, GraphExec, GraphNode, const void*)
HOOK(set, cudaGraphExecChildGraphNodeSetParams, GraphExec, GraphNode, const void*)
HOOK(set, cudaGraphExecEventRecordNodeSetEvent, GraphExec, GraphNode, Event)
HOOK(set, cudaGraphExecEventWaitNodeSetEvent, GraphExec, GraphNode, Event)
HOOK(set, cudaGraphNodeSetEnabled, GraphExec, GraphNode, unsigned)

HOOK_PTSZ(begin_capture, cudaStreamBeginCapture, Stream, int)
HOOK_PTSZ(begin_capture, cudaStreamBeginCaptureToGraph, Stream, Graph, const GraphNode*, const void*, size_t, int)
HOOK_PTSZ(end, cudaStreamEndCapture, Stream, Graph*)

// ---- the driver's ----
HOOK_PTSZ(launch, cuGraphLaunch, GraphExec, Stream)
// The oldest have room for a log.
HOOK(instantiate, cuGraphInstantiate, GraphExec*, Graph, GraphNode*, char*, size_t)
HOOK(instantiate, cuGraphInstantiate_v2, GraphExec*, Graph, GraphNode*, char*, size_t)
HOOK(instantiate, cuGraphInstantiateWithFlags, GraphExec*, Graph, unsigned long long)
HOOK_PTSZ(instantiate, cuGraphInstantiateWithParams, GraphExec*, Graph, void*)
HOOK(destroy, cuGraphExecDestroy, GraphExec)
HOOK(update, cuGraphExecUpdate, GraphExec, Graph, GraphNode*, int*)
HOOK(update, cuGraphExecUpdate_v2, GraphExec, Graph, void*)

// A kernel's parameters begin alike in both versions of these; the newer has more.
CALL(Status, cuGraphKernelNodeSetParams, GraphNode, const void*)
CALL(Status, cuGraphKernelNodeSetParams_v2, GraphNode, const void*)
HOOK(set_kernel_by<next::cuGraphKernelNodeSetParams>, cuGraphExecKernelNodeSetParams, GraphExec, GraphNode, const void*)
HOOK(set_kernel_by<next::cuGraphKernelNodeSetParams_v2>, cuGraphExecKernelNodeSetParams_v2, GraphExec, GraphNode,
     const void*)
HOOK(set, cuGraphExecNodeSetParams, GraphExec, GraphNode, const void*)
HOOK(set, cuGraphExecMemcpyNodeSetParams, GraphExec, GraphNode, const void*, void*)
HOOK(set, cuGraphExecMemsetNodeSetParams, GraphExec, GraphNode, const void*, void*)
HOOK(set, cuGraphExecHostNodeSetParams, GraphExec, GraphNode, const void*)
HOOK(set, cuGraphExecChildGraphNodeSetParams, GraphExec, GraphNode, const void*)
HOOK(set, cuGraphExecEventRecordNodeSetEvent, GraphExec, GraphNode, Event)
HOOK(set, cuGraphExecEventWaitNodeSetEvent, GraphExec, GraphNode, Event)
HOOK(set, cuGraphNodeSetEnabled, GraphExec, GraphNode, unsigned)

HOOK_PTSZ(begin_capture, cuStreamBeginCapture_v2, Stream, int)
HOOK_PTSZ(begin_capture, cuStreamBeginCaptureToGraph, Stream, Graph, const GraphNode*, const void*, size_t, int)
HOOK_PTSZ(end, cuStreamEndCapture, Stream, Graph*)

}  // namespace mneme::record::cuda
