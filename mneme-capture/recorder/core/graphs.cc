// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/core/graphs.h"

#include <algorithm>

namespace mneme::record {

const char* why_not_taken_apart(NodeKind kind) {
  switch (kind) {
    case NodeKind::kMemory:
      return "the graph allocates or frees memory, which is its own only as long as it runs as a whole";
    case NodeKind::kCondition:
      return "the graph has conditional nodes, whose conditions its kernels set";
    default:
      return "the graph has nodes of kinds that are not recorded, such as signals to other programs";
  }
}

std::vector<GraphNode> nodes_of(const GraphCalls& calls, Graph graph) {
  size_t count = 0;
  need(calls.nodes(graph, nullptr, &count));
  std::vector<GraphNode> nodes(count);
  if (count) need(calls.nodes(graph, nodes.data(), &count));
  return nodes;
}

std::vector<GraphNode> nodes_in_order(const GraphCalls& calls, Graph graph) {
  size_t edges = 0;
  std::vector<GraphNode> nodes = nodes_of(calls, graph);
  need(calls.edges(graph, nullptr, nullptr, &edges));
  std::vector<GraphNode> from(edges), to(edges), order;
  if (edges) need(calls.edges(graph, from.data(), to.data(), &edges));
  std::map<GraphNode, size_t> waits;
  std::multimap<GraphNode, GraphNode> after;
  for (size_t i = 0; i < edges; ++i) {
    ++waits[to[i]];
    after.emplace(from[i], to[i]);
  }
  std::ranges::copy_if(nodes, std::back_inserter(order), [&](GraphNode node) { return !waits.contains(node); });
  for (size_t i = 0; i < order.size(); ++i) {
    auto [begin, end] = after.equal_range(order[i]);
    for (auto next = begin; next != end; ++next) {
      if (--waits[next->second] == 0) order.push_back(next->second);
    }
  }
  return order;
}

LastTime::~LastTime() {
  if (event_) calls_.others.destroy_event(event_);
}

// Where the last time the runtime did it there is no telling when that ends; it is rare.
void LastTime::await(void* stream, bool whole) {
  std::lock_guard lock(mutex_);
  if (way_ == Way::kNodes) calls_.others.wait_for_event(stream, event_);
  if (way_ == Way::kWhole && !whole) calls_.others.synchronize();
  way_ = Way::kNone;
}

void LastTime::set(void* stream, bool whole) {
  std::lock_guard lock(mutex_);
  if (whole) {
    way_ = Way::kWhole;
    return;
  }
  if (!event_ && calls_.others.create_event(&event_, kNoTiming) != 0) event_ = nullptr;
  if (event_ && calls_.others.record_event(event_, stream) == 0) {
    way_ = Way::kNodes;
    return;
  }
  calls_.others.forget_error();
  calls_.others.synchronize_stream(stream);
}

}  // namespace mneme::record
