// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda/graph_conditions.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "objects/graph_condition.h"
#include "recorder/cuda/graph_memory.h"
#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {
namespace {

using objects::ConditionSlot;

constexpr unsigned kAssignDefault = 1;  // cudaGraphCondAssignDefault

struct Condition {
  Address slot = 0;
  ConditionHandle vendors = 0;
  unsigned initial = 0;
  bool is_reset = false;  // by each launch
};

struct Conditions {
  std::mutex mutex;
  std::map<const void*, std::vector<Condition>> by_graph;  // those that are ready, too
  std::map<const void*, Graph> parents;                    // of graphs that a condition decides about
  std::map<GraphNode, std::pair<Graph, GraphDecision>> decisions;

  // Which the application made; the others are parts of it.
  Graph root_of(Graph graph) const {
    for (auto found = parents.find(graph); found != parents.end(); found = parents.find(graph)) graph = found->second;
    return graph;
  }
};

// Never destroyed: applications destroy graphs from destructors that run last.
Conditions& conditions() {
  static auto* all = new Conditions;
  return *all;
}

void* pointer(Address address) { return reinterpret_cast<void*>(address); }

}  // namespace

// A kernel that mneme-inject did not compile, or an earlier one did, knows the driver's handles only.
Status make_condition(ConditionHandle* handle, Graph graph, unsigned value, unsigned flags, Status status) {
  if (status != kSuccess || !handle || !recorder() || !runtime().has_variable(objects::kTakesOwnConditions)) {
    return status;
  }
  Graph root = nullptr;
  {
    std::lock_guard lock(conditions().mutex);
    root = conditions().root_of(graph);
  }
  void* slot = allocate_for_graph(root, sizeof(ConditionSlot));
  const auto address = reinterpret_cast<uint64_t>(slot);
  if (!slot || !runtime().zero({address, sizeof(ConditionSlot)}, runtime().device())) return status;
  std::lock_guard lock(conditions().mutex);
  conditions().by_graph[root].push_back({address, *handle, value, (flags & kAssignDefault) != 0});
  *handle = objects::condition_handle(address);
  return status;
}

Status add_condition(GraphNode* node, Graph graph, AnyNode* parameters, const std::function<Status(AnyNode*)>& add) {
  const ConditionHandle ours = parameters->condition.handle;
  std::optional<Condition> known;
  if (objects::is_ours(ours)) {
    std::lock_guard lock(conditions().mutex);
    auto all = conditions().by_graph.find(conditions().root_of(graph));
    if (all != conditions().by_graph.end()) {
      auto found = std::ranges::find(all->second, objects::slot_of(ours), &Condition::slot);
      if (found != all->second.end()) known = *found;
    }
  }
  if (known) parameters->condition.handle = known->vendors;
  const Status status = add(parameters);
  parameters->condition.handle = ours;
  if (status != kSuccess) return status;
  const ConditionNode& added = parameters->condition;
  GraphDecision decision{0, static_cast<GraphDecision::Kind>(added.kind), {}};
  decision.bodies.assign(added.bodies, added.bodies + added.size);
  std::lock_guard lock(conditions().mutex);
  for (Graph body : decision.bodies) conditions().parents[body] = graph;
  if (!known) return status;
  decision.value = known->slot;
  conditions().decisions[*node] = {conditions().root_of(graph), std::move(decision)};
  return status;
}

// What decides about the node; nothing: no condition of ours does.
std::optional<GraphDecision> CudaGraphs::decision_of(GraphNode node) {
  std::lock_guard lock(conditions().mutex);
  auto found = conditions().decisions.find(node);
  return found == conditions().decisions.end() ? std::nullopt : std::optional(found->second.second);
}

// The value, when all that the stream was given is done.
Status CudaGraphs::get_value(const GraphDecision& decision, Stream stream, unsigned* value) {
  const Status status = devices.copy_async(value, pointer(decision.value), sizeof *value, kDeviceToHost, stream);
  return status == kSuccess ? devices.synchronize_stream(stream) : status;
}

void share_conditions(const void* graph, const void* to) {
  std::lock_guard lock(conditions().mutex);
  auto found = conditions().by_graph.find(graph);
  if (found == conditions().by_graph.end() || graph == to) return;
  std::vector<Condition>& theirs = conditions().by_graph[to];
  theirs.insert(theirs.end(), found->second.begin(), found->second.end());
}

void release_conditions(const void* graph) {
  std::lock_guard lock(conditions().mutex);
  conditions().by_graph.erase(graph);
  std::erase_if(conditions().decisions, [&](const auto& decision) { return decision.second.first == graph; });
  // All are found before any goes: a part is found by those that it is in.
  std::vector<const void*> parts;
  for (const auto& [part, parent] : conditions().parents) {
    if (conditions().root_of(parent) == graph) parts.push_back(part);
  }
  for (const void* part : parts) conditions().parents.erase(part);
}

void CudaGraphs::begin(GraphExec ready, Stream stream, bool whole) {
  std::vector<Condition> its;
  {
    std::lock_guard lock(conditions().mutex);
    auto found = conditions().by_graph.find(ready);
    if (found == conditions().by_graph.end()) return;
    its = found->second;
  }
  auto put = [&](Address to, const auto& value) {
    auto copy = [&] { return devices.copy_async(pointer(to), &value, sizeof value, kHostToDevice, stream); };
    change(cuda::runtime(), copy);
  };
  for (const Condition& condition : its) {
    put(condition.slot + offsetof(ConditionSlot, vendors), whole ? condition.vendors : ConditionHandle{0});
    if (!whole && condition.is_reset) put(condition.slot + offsetof(ConditionSlot, value), condition.initial);
  }
}

}  // namespace mneme::record::cuda
