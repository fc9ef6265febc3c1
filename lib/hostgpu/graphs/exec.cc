// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs that can be launched: copies of those that were built.
#include "hostgpu/graphs/exec.h"

#include <algorithm>
#include <unordered_map>

#include "hostgpu/errors.h"
#include "hostgpu/graphs/capture.h"
#include "hostgpu/graphs/memory.h"

struct hipGraphExec {
  std::shared_ptr<ihipGraph> graph;
  std::mutex launching;
  // Of its latest launch: one ends before the next begins.
  mneme::hostgpu::TicketPtr last;
};

namespace mneme::hostgpu {
namespace {

// Under graph_lock(). Never destroyed, as graphs are not.
std::unordered_map<const hipGraphExec*, std::shared_ptr<hipGraphExec>>& live() {
  static auto* all = new std::unordered_map<const hipGraphExec*, std::shared_ptr<hipGraphExec>>;
  return *all;
}

std::shared_ptr<hipGraphExec> checked_exec(hipGraphExec_t exec) {
  auto found = live().find(exec);
  require(found != live().end());
  return found->second;
}

hipError_t instantiate(hipGraphExec_t* exec, hipGraph_t graph) {
  return answer([&] {
    auto lock = graph_lock();
    require(exec);
    auto made = std::make_shared<hipGraphExec>();
    made->graph = clone(checked(graph));
    live()[made.get()] = made;
    *exec = made.get();
  });
}

void launch(hipGraphExec& exec, const std::shared_ptr<Queue>& queue) {
  std::lock_guard one(exec.launching);
  if (exec.last && !exec.last->done.load()) {
    Operation turn;
    turn.always = true;
    turn.after.push_back(exec.last);
    submit(queue, std::move(turn));
  }
  begin_launch(queue, *exec.graph);
  queue_graph(queue, *exec.graph);
  Operation end;
  end.always = true;
  exec.last = submit(queue, std::move(end));
}

// Checks first, so that a graph is updated as a whole or not at all.
UpdateResult compare(ihipGraph& graph, ihipGraph& from) {
  std::vector<hipGraphNode_t> old = in_order(graph), fresh = in_order(from);
  if (old.size() != fresh.size()) return {hipGraphExecUpdateErrorTopologyChanged, nullptr};
  auto position = [](const std::vector<hipGraphNode_t>& order, hipGraphNode_t node) {
    return std::ranges::find(order, node) - order.begin();
  };
  for (size_t i = 0; i < old.size(); ++i) {
    if (old[i]->call.index() != fresh[i]->call.index()) return {hipGraphExecUpdateErrorNodeTypeChanged, fresh[i]};
    std::vector<std::ptrdiff_t> before, now;
    for (hipGraphNode_t node : old[i]->before) before.push_back(position(old, node));
    for (hipGraphNode_t node : fresh[i]->before) now.push_back(position(fresh, node));
    std::ranges::sort(before);
    std::ranges::sort(now);
    if (before != now) return {hipGraphExecUpdateErrorTopologyChanged, fresh[i]};
    const auto within = graphs_in(old[i]->call), now_within = graphs_in(fresh[i]->call);
    if (within.size() != now_within.size()) return {hipGraphExecUpdateErrorParametersChanged, fresh[i]};
    for (size_t child = 0; child < within.size(); ++child) {
      UpdateResult inside = compare(*within[child], *now_within[child]);
      if (inside.result != hipGraphExecUpdateSuccess) return inside;
    }
  }
  return {};
}

void take_calls(ihipGraph& graph, ihipGraph& from) {
  std::vector<hipGraphNode_t> old = in_order(graph), fresh = in_order(from);
  for (size_t i = 0; i < old.size(); ++i) {
    const auto within = graphs_in(old[i]->call), now_within = graphs_in(fresh[i]->call);
    for (size_t child = 0; child < within.size(); ++child) take_calls(*within[child], *now_within[child]);
    if (auto* condition = std::get_if<ConditionCall>(&old[i]->call)) {
      const auto& now = std::get<ConditionCall>(fresh[i]->call);
      condition->slot = now.slot;
      condition->kind = now.kind;
    }
    if (within.empty()) set_call(*old[i], fresh[i]->call);
  }
  graph.conditions = from.conditions;
  drop(graph_memory().replace(&from, &graph));
}

}  // namespace

hipGraphNode& node_in(hipGraphExec_t exec, const hipGraphNode* original) {
  hipGraphNode_t found = find_copy(*checked_exec(exec)->graph, original);
  require(original && found);
  return *found;
}

UpdateResult update(ihipGraph& graph, ihipGraph& from) {
  UpdateResult result = compare(graph, from);
  if (result.result == hipGraphExecUpdateSuccess) take_calls(graph, from);
  return result;
}

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipGraphInstantiate(hipGraphExec_t* exec, hipGraph_t graph, hipGraphNode_t* error, char* log, size_t size) {
  if (error) *error = nullptr;
  if (log && size) *log = '\0';
  return instantiate(exec, graph);
}

// Memory that a graph allocates is the same at each launch: there is none to free before.
hipError_t hipGraphInstantiateWithFlags(hipGraphExec_t* exec, hipGraph_t graph, unsigned long long flags) {
  if (flags & ~static_cast<unsigned long long>(hipGraphInstantiateFlagAutoFreeOnLaunch)) {
    return note_error(hipErrorInvalidValue);
  }
  return instantiate(exec, graph);
}

hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream) {
  return answer_on_device([&] {
    std::shared_ptr<hipGraphExec> launched;
    auto queue = queue_of(stream);
    check_legacy(queue);
    {
      auto lock = graph_lock();
      launched = checked_exec(exec);
      Call call = GraphCall{};
      if (is_captured(queue)) {
        call = GraphCall{clone(*launched->graph)};
        capture_call(queue, call);
        return;
      }
    }
    launch(*launched, queue);
  });
}

__attribute__((visibility("default"))) int mneme_hostgpu_upload_graph(hipGraphExec_t exec, hipStream_t stream) {
  return answer([&] {
    check_not_captured(queue_of(stream));
    auto lock = graph_lock();
    checked_exec(exec);
  });
}

hipError_t hipGraphExecDestroy(hipGraphExec_t exec) {
  const hipError_t status = answer([&] {
    auto lock = graph_lock();
    checked_exec(exec);
    live().erase(exec);
  });
  release_dropped();
  return status;
}

hipError_t hipGraphExecUpdate(hipGraphExec_t exec, hipGraph_t graph, hipGraphNode_t* error,
                              hipGraphExecUpdateResult* result) {
  const hipError_t status = answer([&] {
    auto lock = graph_lock();
    if (result) *result = hipGraphExecUpdateError;
    UpdateResult done = update(*checked_exec(exec)->graph, checked(graph));
    if (result) *result = done.result;
    if (error) *error = done.node;
    require(done.result == hipGraphExecUpdateSuccess, hipErrorGraphExecUpdateFailure);
  });
  release_dropped();
  return status;
}

}  // extern "C"
