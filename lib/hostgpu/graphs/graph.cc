// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/graphs/graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "hostgpu/errors.h"
#include "hostgpu/graphs/memory.h"

namespace mneme::hostgpu {
namespace {

struct Graphs {
  std::recursive_mutex mutex;
  std::unordered_set<const ihipGraph*> graphs;
  std::unordered_set<const hipGraphNode*> nodes;
  std::unordered_map<const ihipGraph*, std::shared_ptr<ihipGraph>> given_out;
};

// Never destroyed: applications destroy graphs from destructors that run last.
Graphs& graphs() {
  static auto* all = new Graphs;
  return *all;
}

void check_call(const Call& call) {
  if (auto* copy = std::get_if<CopyCall>(&call)) check_copy(*copy);
  if (auto* copy = std::get_if<LinearCopyCall>(&call)) check_copy(*copy);
  if (auto* fill = std::get_if<FillCall>(&call)) check_fill(*fill);
  if (auto* host = std::get_if<HostCall>(&call)) require(host->function);
}

void take_over(hipGraphNode& node, Call call) {
  node.call = std::move(call);
  if (auto* kernel = std::get_if<KernelCall>(&node.call)) node.arguments = argument_list(*kernel);
  for (const auto& child : graphs_in(node.call)) {
    child->embedded = true;
    child->outer = node.graph;
    if (std::holds_alternative<ConditionCall>(node.call)) node.bodies.push_back(child.get());
  }
}

hipGraphNode_t make_node(ihipGraph& graph, Call call) {
  auto node = std::make_unique<hipGraphNode>();
  node->graph = &graph;
  take_over(*node, std::move(call));
  graphs().nodes.insert(node.get());
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back().get();
}

bool is_copy(const Call& call) {
  return std::holds_alternative<CopyCall>(call) || std::holds_alternative<LinearCopyCall>(call);
}

}  // namespace

std::unique_lock<std::recursive_mutex> graph_lock() { return std::unique_lock(graphs().mutex); }

std::shared_ptr<ihipGraph> make_graph() {
  auto lock = graph_lock();
  auto graph = std::make_shared<ihipGraph>();
  graphs().graphs.insert(graph.get());
  return graph;
}

std::shared_ptr<ihipGraph> clone(ihipGraph& graph) {
  auto lock = graph_lock();
  std::shared_ptr<ihipGraph> copy = make_graph();
  copy->original = &graph;
  copy->conditions = graph.conditions;
  graph_memory().share(&graph, copy.get());
  std::unordered_map<const hipGraphNode*, hipGraphNode_t> copies;
  for (auto& node : graph.nodes) {
    Call call = node->call;
    if (auto* child = std::get_if<GraphCall>(&call)) child->graph = clone(*child->graph);
    if (auto* condition = std::get_if<ConditionCall>(&call)) {
      for (auto& body : condition->bodies) body = clone(*body);
    }
    hipGraphNode_t made = make_node(*copy, std::move(call));
    made->original = node.get();
    copies[node.get()] = made;
  }
  for (auto& node : graph.nodes) {
    for (hipGraphNode_t other : node->before) copies[node.get()]->before.push_back(copies[other]);
    for (hipGraphNode_t other : node->after) copies[node.get()]->after.push_back(copies[other]);
  }
  return copy;
}

hipGraphNode_t find_copy(const ihipGraph& graph, const hipGraphNode* original) {
  for (const auto& node : graph.nodes) {
    if (node->original == original) return node.get();
    for (const auto& child : graphs_in(node->call)) {
      if (hipGraphNode_t inside = find_copy(*child, original)) return inside;
    }
  }
  return nullptr;
}

ihipGraph& checked(hipGraph_t graph) {
  require(graphs().graphs.contains(graph));
  return *graph;
}

hipGraphNode& checked(hipGraphNode_t node) {
  require(graphs().nodes.contains(node));
  return *node;
}

hipGraphNode_t add_node(ihipGraph& graph, std::span<const hipGraphNode_t> before, Call call) {
  check_call(call);
  for (size_t i = 0; i < before.size(); ++i) {
    require(checked(before[i]).graph == &graph);
    require(std::find(before.begin(), before.begin() + i, before[i]) == before.begin() + i);
  }
  hipGraphNode_t node = make_node(graph, std::move(call));
  for (hipGraphNode_t other : before) {
    node->before.push_back(other);
    other->after.push_back(node);
  }
  return node;
}

void add_edge(hipGraphNode& from, hipGraphNode& to) {
  require(from.graph == to.graph && !is_at_or_after(from, to));
  require(std::ranges::find(to.before, &from) == to.before.end());
  to.before.push_back(&from);
  from.after.push_back(&to);
}

void remove_node(hipGraphNode& node) {
  for (hipGraphNode_t other : node.before) std::erase(other->after, &node);
  for (hipGraphNode_t other : node.after) std::erase(other->before, &node);
  graphs().nodes.erase(&node);
  std::erase_if(node.graph->nodes, [&](const auto& held) { return held.get() == &node; });
}

bool is_at_or_after(const hipGraphNode& node, const hipGraphNode& other) {
  std::unordered_set<const hipGraphNode*> seen{&node};
  std::vector<const hipGraphNode*> open{&node};
  while (!open.empty()) {
    const hipGraphNode* next = open.back();
    open.pop_back();
    if (next == &other) return true;
    for (hipGraphNode_t before : next->before) {
      if (seen.insert(before).second) open.push_back(before);
    }
  }
  return false;
}

std::vector<hipGraphNode_t> in_order(const ihipGraph& graph) {
  std::vector<hipGraphNode_t> order;
  std::unordered_set<const hipGraphNode*> done;
  // Nodes are mostly added after what they depend on, so that the first round finds them all.
  while (order.size() < graph.nodes.size()) {
    for (const auto& node : graph.nodes) {
      auto is_done = [&](hipGraphNode_t other) { return done.contains(other); };
      if (is_done(node.get()) || !std::ranges::all_of(node->before, is_done)) continue;
      order.push_back(node.get());
      done.insert(node.get());
    }
  }
  return order;
}

hipGraphNodeType type_of(const Call& call) {
  if (auto* copy = std::get_if<LinearCopyCall>(&call)) return copy->type;
  constexpr hipGraphNodeType kTypes[] = {hipGraphNodeTypeKernel, hipGraphNodeTypeMemcpy, hipGraphNodeTypeMemcpy1D,
                                         hipGraphNodeTypeMemset, hipGraphNodeTypeHost, hipGraphNodeTypeEmpty,
                                         hipGraphNodeTypeEventRecord, hipGraphNodeTypeWaitEvent, hipGraphNodeTypeGraph,
                                         // CUDA's, which HIP has not: it counts from one.
                                         static_cast<hipGraphNodeType>(vendor::cuda::kConditionNode + 1)};
  static_assert(std::size(kTypes) == std::variant_size_v<Call>);
  return kTypes[call.index()];
}

void set_call(hipGraphNode& node, Call call) {
  require(call.index() == node.call.index() || (is_copy(call) && is_copy(node.call)));
  check_call(call);
  take_over(node, std::move(call));
}

std::span<const std::shared_ptr<ihipGraph>> graphs_in(const Call& call) {
  if (auto* child = std::get_if<GraphCall>(&call)) return {&child->graph, 1};
  if (auto* condition = std::get_if<ConditionCall>(&call)) return condition->bodies;
  return {};
}

void give_out(const std::shared_ptr<ihipGraph>& graph) {
  auto lock = graph_lock();
  graphs().given_out[graph.get()] = graph;
}

void take_back(ihipGraph& graph) {
  auto lock = graph_lock();
  require(graphs().given_out.erase(&graph) == 1);
}

void queue_graph(const std::shared_ptr<Queue>& queue, const ihipGraph& graph) {
  for (hipGraphNode_t node : in_order(graph)) queue_call(queue, node->call);
}

}  // namespace mneme::hostgpu

ihipGraph::~ihipGraph() {
  auto lock = mneme::hostgpu::graph_lock();
  for (const auto& node : nodes) mneme::hostgpu::graphs().nodes.erase(node.get());
  mneme::hostgpu::graphs().graphs.erase(this);
  mneme::hostgpu::drop(mneme::hostgpu::graph_memory().remove(this));
}
