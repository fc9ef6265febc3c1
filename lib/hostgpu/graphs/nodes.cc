// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What nodes of graphs do: given when they are added, read, and changed, in a graph or in one that can be launched.
#include "hostgpu/errors.h"
#include "hostgpu/graphs/exec.h"
#include "hostgpu/kernels/arguments.h"
#include "hostgpu/kernels/registration.h"
#include "hostgpu/memory/copy.h"
#include "hostgpu/queue/events.h"

namespace mneme::hostgpu {
namespace {

// `make` gives the node's call.
template <typename Make>
hipError_t add(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before, size_t count, Make&& make) {
  return answer([&] {
    auto lock = graph_lock();
    require(node && (before || !count));
    ihipGraph& into = checked(graph);
    *node = add_node(into, {before, count}, make());
  });
}

template <typename Make>
hipError_t set(hipGraphNode_t node, Make&& make) {
  return answer([&] {
    auto lock = graph_lock();
    set_call(checked(node), make());
  });
}

template <typename Make>
hipError_t set(hipGraphExec_t exec, hipGraphNode_t node, Make&& make) {
  return answer([&] {
    auto lock = graph_lock();
    set_call(node_in(exec, node), make());
  });
}

// Takes what a node does, if it is of that kind.
template <typename Kind, typename Take>
hipError_t get(hipGraphNode_t node, Take&& take) {
  return answer([&] {
    auto lock = graph_lock();
    hipGraphNode& found = checked(node);
    auto* call = std::get_if<Kind>(&found.call);
    require(call);
    take(*call, found);
  });
}

Call kernel(const hipKernelNodeParams* p) {
  require(p && p->func && !(p->kernelParams && p->extra));
  if (!p->extra) return kernel_call(p->func, p->gridDim, p->blockDim, p->kernelParams, p->sharedMemBytes);
  std::vector<void*> list = argument_list(ready_kernel(p->func).info(), arguments_of(nullptr, p->extra));
  return kernel_call(p->func, p->gridDim, p->blockDim, list.data(), p->sharedMemBytes);
}

Call copy(const hipMemcpy3DParms* p) {
  require(p);
  return CopyCall{*p};
}

// A copy of bytes in a row is one of a box, too.
hipMemcpy3DParms as_box(const LinearCopyCall& call) {
  hipMemcpy3DParms box{};
  box.srcPtr = make_hipPitchedPtr(const_cast<void*>(call.from), call.size, call.size, 1);
  box.dstPtr = make_hipPitchedPtr(call.to, call.size, call.size, 1);
  box.extent = make_hipExtent(call.size, 1, 1);
  box.kind = call.kind;
  return box;
}

Call copy(void* to, const void* from, size_t size, hipMemcpyKind kind) { return LinearCopyCall{to, from, size, kind}; }

Call copy_from(void* to, const void* symbol, size_t size, size_t offset, hipMemcpyKind kind) {
  return LinearCopyCall{to, symbol_part(symbol, size, offset), size, kind, hipGraphNodeTypeMemcpyFromSymbol};
}

Call copy_to(const void* symbol, const void* from, size_t size, size_t offset, hipMemcpyKind kind) {
  return LinearCopyCall{symbol_part(symbol, size, offset), from, size, kind, hipGraphNodeTypeMemcpyToSymbol};
}

Call fill(const hipMemsetParams* p) {
  require(p);
  FillCall call;
  call.rows = *p;
  return call;
}

Call host(const hipHostNodeParams* p) {
  require(p && p->fn);
  return HostCall{p->fn, p->userData};
}

template <typename Kind>
Call event_call(hipEvent_t event) {
  check_event(event);
  return Kind{event};
}

}  // namespace
}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

// ---- kernels ----

hipError_t hipGraphAddKernelNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before, size_t count,
                                 const hipKernelNodeParams* parameters) {
  return add(node, graph, before, count, [&] { return kernel(parameters); });
}
hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t node, hipKernelNodeParams* parameters) {
  return get<KernelCall>(node, [&](const KernelCall& call, hipGraphNode& found) {
    require(parameters);
    *parameters = {};
    parameters->func = const_cast<void*>(call.function);
    parameters->gridDim = call.grid;
    parameters->blockDim = call.block;
    parameters->sharedMemBytes = call.shared;
    parameters->kernelParams = found.arguments.empty() ? nullptr : found.arguments.data();
  });
}
hipError_t hipGraphKernelNodeSetParams(hipGraphNode_t node, const hipKernelNodeParams* parameters) {
  return set(node, [&] { return kernel(parameters); });
}
hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                           const hipKernelNodeParams* parameters) {
  return set(exec, node, [&] { return kernel(parameters); });
}

// ---- copies ----

hipError_t hipGraphAddMemcpyNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before, size_t count,
                                 const hipMemcpy3DParms* parameters) {
  return add(node, graph, before, count, [&] { return copy(parameters); });
}
hipError_t hipGraphMemcpyNodeGetParams(hipGraphNode_t node, hipMemcpy3DParms* parameters) {
  return answer([&] {
    auto lock = graph_lock();
    hipGraphNode& found = checked(node);
    require(parameters);
    const auto* linear = std::get_if<LinearCopyCall>(&found.call);
    const auto* box = std::get_if<CopyCall>(&found.call);
    require(box || linear);
    *parameters = box ? box->box : as_box(*linear);
  });
}
hipError_t hipGraphMemcpyNodeSetParams(hipGraphNode_t node, const hipMemcpy3DParms* parameters) {
  return set(node, [&] { return copy(parameters); });
}
hipError_t hipGraphExecMemcpyNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, hipMemcpy3DParms* parameters) {
  return set(exec, node, [&] { return copy(parameters); });
}

hipError_t hipGraphAddMemcpyNode1D(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before, size_t count,
                                   void* to, const void* from, size_t size, hipMemcpyKind kind) {
  return add(node, graph, before, count, [&] { return copy(to, from, size, kind); });
}
hipError_t hipGraphMemcpyNodeSetParams1D(hipGraphNode_t node, void* to, const void* from, size_t size,
                                         hipMemcpyKind kind) {
  return set(node, [&] { return copy(to, from, size, kind); });
}
hipError_t hipGraphExecMemcpyNodeSetParams1D(hipGraphExec_t exec, hipGraphNode_t node, void* to, const void* from,
                                             size_t size, hipMemcpyKind kind) {
  return set(exec, node, [&] { return copy(to, from, size, kind); });
}

hipError_t hipGraphAddMemcpyNodeFromSymbol(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before,
                                           size_t count, void* to, const void* symbol, size_t size, size_t offset,
                                           hipMemcpyKind kind) {
  return add(node, graph, before, count, [&] { return copy_from(to, symbol, size, offset, kind); });
}
hipError_t hipGraphMemcpyNodeSetParamsFromSymbol(hipGraphNode_t node, void* to, const void* symbol, size_t size,
                                                 size_t offset, hipMemcpyKind kind) {
  return set(node, [&] { return copy_from(to, symbol, size, offset, kind); });
}
hipError_t hipGraphExecMemcpyNodeSetParamsFromSymbol(hipGraphExec_t exec, hipGraphNode_t node, void* to,
                                                     const void* symbol, size_t size, size_t offset,
                                                     hipMemcpyKind kind) {
  return set(exec, node, [&] { return copy_from(to, symbol, size, offset, kind); });
}

hipError_t hipGraphAddMemcpyNodeToSymbol(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before,
                                         size_t count, const void* symbol, const void* from, size_t size, size_t offset,
                                         hipMemcpyKind kind) {
  return add(node, graph, before, count, [&] { return copy_to(symbol, from, size, offset, kind); });
}
hipError_t hipGraphMemcpyNodeSetParamsToSymbol(hipGraphNode_t node, const void* symbol, const void* from, size_t size,
                                               size_t offset, hipMemcpyKind kind) {
  return set(node, [&] { return copy_to(symbol, from, size, offset, kind); });
}
hipError_t hipGraphExecMemcpyNodeSetParamsToSymbol(hipGraphExec_t exec, hipGraphNode_t node, const void* symbol,
                                                   const void* from, size_t size, size_t offset, hipMemcpyKind kind) {
  return set(exec, node, [&] { return copy_to(symbol, from, size, offset, kind); });
}

// ---- fills ----

hipError_t hipGraphAddMemsetNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before, size_t count,
                                 const hipMemsetParams* parameters) {
  return add(node, graph, before, count, [&] { return fill(parameters); });
}
hipError_t hipGraphMemsetNodeGetParams(hipGraphNode_t node, hipMemsetParams* parameters) {
  return get<FillCall>(node, [&](const FillCall& call, hipGraphNode&) {
    require(parameters);
    *parameters = call.rows;
  });
}
hipError_t hipGraphMemsetNodeSetParams(hipGraphNode_t node, const hipMemsetParams* parameters) {
  return set(node, [&] { return fill(parameters); });
}
hipError_t hipGraphExecMemsetNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                           const hipMemsetParams* parameters) {
  return set(exec, node, [&] { return fill(parameters); });
}

// ---- the application's functions ----

hipError_t hipGraphAddHostNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before, size_t count,
                               const hipHostNodeParams* parameters) {
  return add(node, graph, before, count, [&] { return host(parameters); });
}
hipError_t hipGraphHostNodeGetParams(hipGraphNode_t node, hipHostNodeParams* parameters) {
  return get<HostCall>(node, [&](const HostCall& call, hipGraphNode&) {
    require(parameters);
    *parameters = {call.function, call.data};
  });
}
hipError_t hipGraphHostNodeSetParams(hipGraphNode_t node, const hipHostNodeParams* parameters) {
  return set(node, [&] { return host(parameters); });
}
hipError_t hipGraphExecHostNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node,
                                         const hipHostNodeParams* parameters) {
  return set(exec, node, [&] { return host(parameters); });
}

// ---- graphs, and nothing ----

hipError_t hipGraphAddChildGraphNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before, size_t count,
                                     hipGraph_t child) {
  return add(node, graph, before, count, [&] { return GraphCall{clone(checked(child))}; });
}
hipError_t hipGraphChildGraphNodeGetGraph(hipGraphNode_t node, hipGraph_t* graph) {
  return get<GraphCall>(node, [&](const GraphCall& call, hipGraphNode&) {
    require(graph);
    *graph = call.graph.get();
  });
}
hipError_t hipGraphExecChildGraphNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, hipGraph_t child) {
  return answer([&] {
    auto lock = graph_lock();
    auto* call = std::get_if<GraphCall>(&node_in(exec, node).call);
    require(call);
    UpdateResult done = update(*call->graph, checked(child));
    require(done.result == hipGraphExecUpdateSuccess, hipErrorGraphExecUpdateFailure);
  });
}

hipError_t hipGraphAddEmptyNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before, size_t count) {
  return add(node, graph, before, count, [] { return NoCall{}; });
}

// ---- events ----

hipError_t hipGraphAddEventRecordNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before,
                                      size_t count, hipEvent_t event) {
  return add(node, graph, before, count, [&] { return event_call<RecordEventCall>(event); });
}
hipError_t hipGraphEventRecordNodeGetEvent(hipGraphNode_t node, hipEvent_t* event) {
  return get<RecordEventCall>(node, [&](const RecordEventCall& call, hipGraphNode&) {
    require(event);
    *event = call.event;
  });
}
hipError_t hipGraphEventRecordNodeSetEvent(hipGraphNode_t node, hipEvent_t event) {
  return set(node, [&] { return event_call<RecordEventCall>(event); });
}
hipError_t hipGraphExecEventRecordNodeSetEvent(hipGraphExec_t exec, hipGraphNode_t node, hipEvent_t event) {
  return set(exec, node, [&] { return event_call<RecordEventCall>(event); });
}

hipError_t hipGraphAddEventWaitNode(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before, size_t count,
                                    hipEvent_t event) {
  return add(node, graph, before, count, [&] { return event_call<WaitEventCall>(event); });
}
hipError_t hipGraphEventWaitNodeGetEvent(hipGraphNode_t node, hipEvent_t* event) {
  return get<WaitEventCall>(node, [&](const WaitEventCall& call, hipGraphNode&) {
    require(event);
    *event = call.event;
  });
}
hipError_t hipGraphEventWaitNodeSetEvent(hipGraphNode_t node, hipEvent_t event) {
  return set(node, [&] { return event_call<WaitEventCall>(event); });
}
hipError_t hipGraphExecEventWaitNodeSetEvent(hipGraphExec_t exec, hipGraphNode_t node, hipEvent_t event) {
  return set(exec, node, [&] { return event_call<WaitEventCall>(event); });
}

}  // extern "C"
