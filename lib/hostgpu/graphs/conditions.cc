// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nodes whose graphs run as a condition says, which kernels set: CUDA's, which HIP has not. What a graph does next is
// known when what is before it has been done, so that launching such a graph waits for it.
#include <algorithm>
#include <new>

#include "hostgpu/errors.h"
#include "hostgpu/extensions.h"
#include "hostgpu/graphs/capture.h"
#include "hostgpu/graphs/graph.h"
#include "hostgpu/graphs/memory.h"

namespace mneme::hostgpu {
namespace {

unsigned value_of(const std::shared_ptr<Queue>& queue, const ConditionCall& call) {
  wait_for(queue);
  return __atomic_load_n(&call.slot->value, __ATOMIC_ACQUIRE);
}

// A condition decides in the graph that it was made for, and in those within.
objects::ConditionSlot* slot_in(const ihipGraph& graph, unsigned long long handle) {
  require(objects::is_ours(handle));
  auto* slot = reinterpret_cast<objects::ConditionSlot*>(objects::slot_of(handle));
  for (const ihipGraph* outer = &graph; outer; outer = outer->outer) {
    if (std::ranges::find(outer->conditions, slot, &Condition::slot) != outer->conditions.end()) return slot;
  }
  throw HipError(hipErrorInvalidValue);
}

void check_size(int kind, unsigned size) {
  const unsigned most = kind == ConditionCall::kIf ? 2 : kind == ConditionCall::kWhile ? 1 : ~0u;
  require(kind >= ConditionCall::kIf && kind <= ConditionCall::kSwitch && size > 0 && size <= most);
}

}  // namespace

void run_condition(const std::shared_ptr<Queue>& queue, const ConditionCall& call) {
  unsigned value = value_of(queue, call);
  switch (call.kind) {
    case ConditionCall::kWhile:
      for (; value; value = value_of(queue, call)) queue_graph(queue, *call.bodies[0]);
      return;
    case ConditionCall::kIf:
      value = value ? 0 : 1;
      break;
    case ConditionCall::kSwitch:
      break;
  }
  if (value < call.bodies.size()) queue_graph(queue, *call.bodies[value]);
}

void begin_launch(const std::shared_ptr<Queue>& queue, const ihipGraph& graph) {
  drop(graph_memory().launch(&graph));
  for (const Condition& condition : graph.conditions) {
    if (!condition.is_reset) continue;
    const hipError_t status =
        hipMemsetD32Async(&condition.slot->value, static_cast<int>(condition.initial), 1, queue.get());
    require(status == hipSuccess, status);
  }
  for (const auto& node : graph.nodes) {
    for (const auto& child : graphs_in(node->call)) begin_launch(queue, *child);
  }
}

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

#pragma GCC visibility push(default)
extern "C" {

// Each has memory of its own, since kernels of other graphs may set others at the same time.
int mneme_hostgpu_make_condition(unsigned long long* handle, hipGraph_t graph, unsigned value, bool reset) {
  AllowUnsafeCalls allowed;
  mneme::vendor::cuda::AllocationNode memory{};
  const hipError_t given = hipMalloc(&memory.pointer, sizeof(mneme::objects::ConditionSlot));
  if (given != hipSuccess) return given;
  auto* slot = new (memory.pointer) mneme::objects::ConditionSlot;
  const hipError_t status = answer([&] {
    auto lock = graph_lock();
    require(handle);
    checked(graph).conditions.push_back({slot, value, reset});
    *handle = mneme::objects::condition_handle(reinterpret_cast<uint64_t>(slot));
  });
  if (status != hipSuccess) {
    (void)hipFree(slot);
    return status;
  }
  // The graph's, and never the application's.
  graph_memory().add_allocation(graph, nullptr, memory);
  graph_memory().add_free(graph, nullptr, slot);
  return hipSuccess;
}

int mneme_hostgpu_add_condition(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before, size_t count,
                                unsigned long long handle, int kind, unsigned size, hipGraph_t** bodies) {
  return answer([&] {
    auto lock = graph_lock();
    require(node && (before || !count) && bodies);
    check_size(kind, size);
    ihipGraph& into = checked(graph);
    ConditionCall call{slot_in(into, handle), static_cast<ConditionCall::Kind>(kind), {}};
    for (unsigned i = 0; i < size; ++i) call.bodies.push_back(make_graph());
    *node = add_node(into, {before, count}, std::move(call));
    *bodies = (*node)->bodies.data();
  });
}

}  // extern "C"
#pragma GCC visibility pop
