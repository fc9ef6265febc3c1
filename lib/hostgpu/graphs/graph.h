// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs: calls and the order between them. All functions of the graphs' API hold graph_lock() while they look at or
// change any.
#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "hostgpu/graphs/calls.h"

namespace mneme::hostgpu {

// A value that decides what a graph does.
struct Condition {
  objects::ConditionSlot* slot = nullptr;
  unsigned initial = 0;   // what each launch begins with,
  bool is_reset = false;  // if it does
};

}  // namespace mneme::hostgpu

struct hipGraphNode {
  ihipGraph* graph = nullptr;
  mneme::hostgpu::Call call;
  std::vector<void*> arguments;        // of a kernel, for hipGraphKernelNodeGetParams
  std::vector<hipGraphNode_t> before;  // in the order in which they were added
  std::vector<hipGraphNode_t> after;
  hipGraphNode_t original = nullptr;  // of which this is a copy
  std::vector<hipGraph_t> bodies;     // of a condition, for the application
};

struct ihipGraph {
  std::vector<std::unique_ptr<hipGraphNode>> nodes;  // in the order in which they were added
  ihipGraph* original = nullptr;                     // of which this is a copy
  std::vector<mneme::hostgpu::Condition> conditions;
  bool embedded = false;       // a child node's: not for hipGraphDestroy
  ihipGraph* outer = nullptr;  // the graph whose node it is in
  ihipGraph() = default;
  ~ihipGraph();
  ihipGraph(const ihipGraph&) = delete;
  ihipGraph& operator=(const ihipGraph&) = delete;
};

namespace mneme::hostgpu {

std::unique_lock<std::recursive_mutex> graph_lock();

std::shared_ptr<ihipGraph> make_graph();
// A copy, child graphs too. The copies name their originals.
std::shared_ptr<ihipGraph> clone(ihipGraph& graph);

// Of a node of the graph that this is a copy of, or of a graph within; null if it is none.
hipGraphNode_t find_copy(const ihipGraph& graph, const hipGraphNode* original);

// Throw HipError(hipErrorInvalidValue) for handles that are none.
ihipGraph& checked(hipGraph_t graph);
hipGraphNode& checked(hipGraphNode_t node);

hipGraphNode_t add_node(ihipGraph& graph, std::span<const hipGraphNode_t> before, Call call);
// Throws HipError for an edge that is there, that leads to another graph, or that would close a circle.
void add_edge(hipGraphNode& from, hipGraphNode& to);
void remove_node(hipGraphNode& node);
// Whether `node` is `other` or comes after it.
bool is_at_or_after(const hipGraphNode& node, const hipGraphNode& other);
// Each after all that are before it, otherwise in the order in which they were added.
std::vector<hipGraphNode_t> in_order(const ihipGraph& graph);

hipGraphNodeType type_of(const Call& call);
// Throws HipError for what cannot be done, and for another kind of call than the node's.
void set_call(hipGraphNode& node, Call call);

// Whoever holds on to a graph, for the handle that the application has.
void give_out(const std::shared_ptr<ihipGraph>& graph);
void take_back(ihipGraph& graph);

// The graphs that are part of what a node does.
std::span<const std::shared_ptr<ihipGraph>> graphs_in(const Call& call);

// Queues all nodes in the stream, one after the other.
void queue_graph(const std::shared_ptr<Queue>& queue, const ihipGraph& graph);
// conditions.cc. Waits for the stream whenever the value decides.
void run_condition(const std::shared_ptr<Queue>& queue, const ConditionCall& call);
// Queues the values that a launch begins with, and notes whose the graph's memory is.
void begin_launch(const std::shared_ptr<Queue>& queue, const ihipGraph& graph);

}  // namespace mneme::hostgpu
