// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs as a whole: made, copied, taken apart, and what leads where.
#include <algorithm>

#include "hostgpu/errors.h"
#include "hostgpu/graphs/graph.h"
#include "hostgpu/graphs/memory.h"

namespace mneme::hostgpu {
namespace {

template <typename Body>
hipError_t on_graph(Body&& body) {
  return answer([&] {
    auto lock = graph_lock();
    body();
  });
}

// Without room for them, how many there are; with it, as many as fit, nulls behind them, and how many those are.
void list(const std::vector<hipGraphNode_t>& found, hipGraphNode_t* nodes, size_t* count) {
  require(count);
  if (nodes) {
    for (size_t i = 0; i < *count; ++i) nodes[i] = i < found.size() ? found[i] : nullptr;
    *count = std::min(*count, found.size());
  } else {
    *count = found.size();
  }
}

std::vector<hipGraphNode_t> nodes_of(const ihipGraph& graph) {
  std::vector<hipGraphNode_t> nodes;
  for (const auto& node : graph.nodes) nodes.push_back(node.get());
  return nodes;
}

}  // namespace
}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

extern "C" {

hipError_t hipGraphCreate(hipGraph_t* graph, unsigned flags) {
  return on_graph([&] {
    require(graph && flags == 0);
    std::shared_ptr<ihipGraph> made = make_graph();
    give_out(made);
    *graph = made.get();
  });
}

hipError_t hipGraphDestroy(hipGraph_t graph) {
  const hipError_t status = on_graph([&] { take_back(checked(graph)); });
  release_dropped();
  return status;
}

hipError_t hipGraphClone(hipGraph_t* copy, hipGraph_t graph) {
  return on_graph([&] {
    require(copy);
    std::shared_ptr<ihipGraph> made = clone(checked(graph));
    give_out(made);
    *copy = made.get();
  });
}

hipError_t hipGraphNodeFindInClone(hipGraphNode_t* found, hipGraphNode_t original, hipGraph_t copy) {
  return on_graph([&] {
    require(found);
    hipGraphNode_t node = find_copy(checked(copy), &checked(original));
    require(node && node->graph == copy);
    *found = node;
  });
}

hipError_t hipGraphAddDependencies(hipGraph_t graph, const hipGraphNode_t* from, const hipGraphNode_t* to,
                                   size_t count) {
  return on_graph([&] {
    checked(graph);
    require(count == 0 || (from && to));
    for (size_t i = 0; i < count; ++i) {
      require(checked(from[i]).graph == graph && checked(to[i]).graph == graph);
      add_edge(*from[i], *to[i]);
    }
  });
}

hipError_t hipGraphRemoveDependencies(hipGraph_t graph, const hipGraphNode_t* from, const hipGraphNode_t* to,
                                      size_t count) {
  return on_graph([&] {
    checked(graph);
    require(count == 0 || (from && to));
    for (size_t i = 0; i < count; ++i) {
      require(checked(from[i]).graph == graph && checked(to[i]).graph == graph);
      require(std::erase(from[i]->after, to[i]) == 1);
      std::erase(to[i]->before, from[i]);
    }
  });
}

hipError_t hipGraphGetEdges(hipGraph_t graph, hipGraphNode_t* from, hipGraphNode_t* to, size_t* count) {
  return on_graph([&] {
    require(count && !from == !to);
    std::vector<hipGraphNode_t> starts, ends;
    for (const auto& node : checked(graph).nodes) {
      for (hipGraphNode_t after : node->after) {
        starts.push_back(node.get());
        ends.push_back(after);
      }
    }
    size_t room = *count;
    list(starts, from, count);
    if (to) list(ends, to, &room);
  });
}

hipError_t hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count) {
  return on_graph([&] { list(nodes_of(checked(graph)), nodes, count); });
}

hipError_t hipGraphGetRootNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count) {
  return on_graph([&] {
    std::vector<hipGraphNode_t> roots = nodes_of(checked(graph));
    std::erase_if(roots, [](hipGraphNode_t node) { return !node->before.empty(); });
    list(roots, nodes, count);
  });
}

hipError_t hipGraphNodeGetDependencies(hipGraphNode_t node, hipGraphNode_t* nodes, size_t* count) {
  return on_graph([&] { list(checked(node).before, nodes, count); });
}

hipError_t hipGraphNodeGetDependentNodes(hipGraphNode_t node, hipGraphNode_t* nodes, size_t* count) {
  return on_graph([&] { list(checked(node).after, nodes, count); });
}

hipError_t hipGraphNodeGetType(hipGraphNode_t node, hipGraphNodeType* type) {
  return on_graph([&] {
    require(type);
    *type = type_of(checked(node).call);
  });
}

hipError_t hipGraphDestroyNode(hipGraphNode_t node) {
  return on_graph([&] { remove_node(checked(node)); });
}

}  // extern "C"
