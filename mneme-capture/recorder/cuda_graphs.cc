// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda_graphs.h"

#include <algorithm>

#include "recorder/cuda_handles.h"

namespace mneme::record::cuda {
namespace {

constinit Next<Error(Graph*, Graph)> next_clone(kLibrary, "cudaGraphClone");
constinit Next<Error(GraphNode*, GraphNode, Graph)> next_find(kLibrary, "cudaGraphNodeFindInClone");
constinit Next<Error(Graph*, unsigned)> next_create(kLibrary, "cudaGraphCreate");
constinit Next<Error(Graph)> next_destroy(kLibrary, "cudaGraphDestroy");
constinit Next<Error(GraphExec*, Graph, unsigned long long)> next_instantiate(kLibrary,
                                                                              "cudaGraphInstantiateWithFlags");
constinit Next<Error(GraphExec)> next_exec_destroy(kLibrary, "cudaGraphExecDestroy");
constinit Next<Error(GraphNode, KernelNode*)> next_get_kernel(kLibrary, "cudaGraphKernelNodeGetParams");
constinit Next<Error(GraphNode, int, void*)> next_get_attribute(kLibrary, "cudaGraphKernelNodeGetAttribute");
constinit Next<Error(GraphNode, Graph*)> next_get_child(kLibrary, "cudaGraphChildGraphNodeGetGraph");
constinit Next<Error()> next_last_error(kLibrary, "cudaGetLastError");
// The runtime's functions for these take other arguments in other versions.
constinit Next<Result(Graph, GraphNode*, size_t*)> next_nodes(kDriver, "cuGraphGetNodes");
constinit Next<Result(Graph, GraphNode*, GraphNode*, size_t*)> next_edges(kDriver, "cuGraphGetEdges");
constinit Next<Result(Graph, GraphNode*, GraphNode*, EdgeData*, size_t*)> next_edges_with_data(kDriver,
                                                                                               "cuGraphGetEdges_v2");
constinit Next<Result(GraphNode, int*)> next_type(kDriver, "cuGraphNodeGetType");
constinit Next<Result(GraphNode, DriverKernelNode*)> next_get_drivers(kDriver, "cuGraphKernelNodeGetParams_v2");

using Get = Next<Error(GraphNode, NodeParameters*)>;
using Add = Next<Error(GraphNode*, Graph, const GraphNode*, size_t, const NodeParameters*)>;
constinit Get next_get_copy(kLibrary, "cudaGraphMemcpyNodeGetParams");
constinit Get next_get_fill(kLibrary, "cudaGraphMemsetNodeGetParams");
constinit Get next_get_host(kLibrary, "cudaGraphHostNodeGetParams");
constinit Add next_add_copy(kLibrary, "cudaGraphAddMemcpyNode");
constinit Add next_add_fill(kLibrary, "cudaGraphAddMemsetNode");
constinit Add next_add_host(kLibrary, "cudaGraphAddHostNode");

using GetEvent = Next<Error(GraphNode, Event*)>;
using AddEvent = Next<Error(GraphNode*, Graph, const GraphNode*, size_t, Event)>;
constinit GetEvent next_get_record(kLibrary, "cudaGraphEventRecordNodeGetEvent");
constinit GetEvent next_get_wait(kLibrary, "cudaGraphEventWaitNodeGetEvent");
constinit AddEvent next_add_record(kLibrary, "cudaGraphAddEventRecordNode");
constinit AddEvent next_add_wait(kLibrary, "cudaGraphAddEventWaitNode");

class Trouble : public std::exception {
 public:
  explicit Trouble(const char* text) : text_(text) {}
  const char* what() const noexcept override { return text_; }

 private:
  const char* text_;
};

constexpr char kNoAnswer[] = "the runtime does not tell what is in the graph";

void need(int status) {
  if (status != kSuccess) throw Trouble(kNoAnswer);
}

std::vector<GraphNode> nodes_of(Graph graph) {
  size_t count = 0;
  need(next_nodes.call_or(kNotSupported, graph, nullptr, &count));
  std::vector<GraphNode> nodes(count);
  if (count) need(next_nodes.call_or(kNotSupported, graph, nodes.data(), &count));
  return nodes;
}

int type_of(GraphNode node) {
  int type = -1;
  need(next_type.call_or(kNotSupported, node, &type));
  return type;
}

// Edges that let a kernel begin before another one has ended have data, of which older drivers know nothing; a kernel
// that begins later than it may does the same.
void get_edges(Graph graph, GraphNode* from, GraphNode* to, size_t& count) {
  std::vector<EdgeData> data(count);
  Result status = next_edges_with_data.call_or(kNotSupported, graph, from, to, from ? data.data() : nullptr, &count);
  need(status == kNotSupported ? next_edges.call_or(kNotSupported, graph, from, to, &count) : status);
}

// A node comes after all that it depends on.
std::vector<GraphNode> nodes_in_order(Graph graph) {
  size_t edges = 0;
  std::vector<GraphNode> nodes = nodes_of(graph);
  get_edges(graph, nullptr, nullptr, edges);
  std::vector<GraphNode> from(edges), to(edges), order;
  if (edges) get_edges(graph, from.data(), to.data(), edges);
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

// The kernel as the application's runtime has it. What that does not know was added by the driver's functions, or by
// another runtime (a library may have its own): the driver knows it.
void ask_about_kernel(GraphStep& step) {
  if (next_get_kernel.call_or(kNotSupported, step.node, &step.kernel) == kSuccess) {
    Core* core = recorder();
    if (core && core->knows(Handles::all().function(step.kernel.function))) return;
  } else {
    next_last_error.call_or(kNotSupported);
  }
  DriverKernelNode drivers{};
  need(next_get_drivers.call_or(kNotSupported, step.node, &drivers));
  step.drivers = true;
  step.kernel = {drivers.function ? drivers.function : drivers.kernel,
                 drivers.grid,
                 drivers.block,
                 drivers.shared,
                 drivers.arguments,
                 drivers.extra};
}

GraphStep kernel_step(GraphNode node) {
  GraphStep step;
  step.node = node;
  ask_about_kernel(step);
  unsigned value[16] = {};
  if (next_get_attribute.call_or(kNotSupported, node, kLaunchDeviceUpdatable, value) != kSuccess) {
    next_last_error.call_or(kNotSupported);  // older ones do not know of it
  } else if (value[0]) {
    throw Trouble("kernels change the graph while it runs");
  }
  value[0] = 0;
  need(next_get_attribute.call_or(kNotSupported, node, kLaunchCooperative, value));
  step.cooperative = value[0] != 0;
  value[0] = value[1] = value[2] = 0;
  need(next_get_attribute.call_or(kNotSupported, node, kLaunchClusterDimension, value));
  if (value[0] && value[1] && value[2]) step.cluster = {value[0], value[1], value[2]};
  return step;
}

// A graph that does what one node of another does; `add` adds that to a graph.
template <class AddNode>
GraphExec graph_of(const AddNode& add) {
  Graph graph = nullptr;
  GraphExec ready = nullptr;
  need(next_create.call_or(kNotSupported, &graph, 0));
  Error status = add(graph);
  if (status == kSuccess) status = next_instantiate.call_or(kNotSupported, &ready, graph, 0);
  next_destroy.call_or(kNotSupported, graph);
  need(status);
  return ready;
}

GraphExec alone(GraphNode node, const Get& get, const Add& add) {
  NodeParameters parameters{};
  need(get.call_or(kNotSupported, node, &parameters));
  GraphNode made = nullptr;
  return graph_of([&](Graph graph) { return add.call_or(kNotSupported, &made, graph, nullptr, 0, &parameters); });
}

GraphExec alone(GraphNode node, const GetEvent& get, const AddEvent& add) {
  Event event = nullptr;
  GraphNode made = nullptr;
  need(get.call_or(kNotSupported, node, &event));
  return graph_of([&](Graph graph) { return add.call_or(kNotSupported, &made, graph, nullptr, 0, event); });
}

const char* why_not_taken_apart(int type) {
  switch (type) {
    case kAllocationNode:
    case kFreeNode:
      return "the graph allocates or frees memory, which is its own only as long as it runs as a whole";
    case kConditionNode:
      return "the graph has conditional nodes, of which its kernels decide what they do";
    default:
      return "the graph has nodes of kinds that are not recorded, such as signals to other programs";
  }
}

// Of a graph that cannot be copied.
const char* why_not_copied(Graph graph) try {
  for (GraphNode node : nodes_of(graph)) {
    int type = type_of(node);
    if (type == kAllocationNode || type == kFreeNode || type == kConditionNode) return why_not_taken_apart(type);
  }
  return "the runtime does not copy the graph";
} catch (const std::exception&) {
  return kNoAnswer;
}

void add_steps(Graph graph, std::vector<GraphStep>& steps) {
  for (GraphNode node : nodes_in_order(graph)) {
    Graph child = nullptr;
    const int type = type_of(node);
    switch (type) {
      case kKernelNode:
        steps.push_back(kernel_step(node));
        break;
      case kCopyNode:
        steps.push_back({.node = node, .other = alone(node, next_get_copy, next_add_copy)});
        break;
      case kFillNode:
        steps.push_back({.node = node, .other = alone(node, next_get_fill, next_add_fill)});
        break;
      case kHostNode:
        steps.push_back({.node = node, .other = alone(node, next_get_host, next_add_host)});
        break;
      case kRecordNode:
        steps.push_back({.node = node, .other = alone(node, next_get_record, next_add_record)});
        break;
      case kWaitNode:
        steps.push_back({.node = node, .other = alone(node, next_get_wait, next_add_wait)});
        break;
      case kGraphNode:
        need(next_get_child.call_or(kNotSupported, node, &child));
        add_steps(child, steps);
        break;
      case kEmptyNode:
        break;
      default:
        throw Trouble(why_not_taken_apart(type));
    }
  }
}

}  // namespace

struct Graphs::Copy {
  ~Copy() {
    for (const GraphStep& step : plan.steps) {
      if (step.other) next_exec_destroy.call_or(kNotSupported, step.other);
    }
    if (graph) next_destroy.call_or(kNotSupported, graph);
  }
  void make_plan() {
    planned = true;
    if (!plan.trouble.empty()) return;
    try {
      add_steps(graph, plan.steps);
    } catch (const std::exception& error) {
      plan.trouble = error.what();
      next_last_error.call_or(kNotSupported);  // our question, not the application's error
    }
  }

  Graph graph = nullptr;
  bool planned = false;
  GraphPlan plan;
};

Graphs& Graphs::all() {
  static auto* only = new Graphs;
  return *only;
}

void Graphs::add(GraphExec ready, Graph graph) {
  auto copy = std::make_shared<Copy>();
  if (next_clone.call_or(kNotSupported, &copy->graph, graph) != kSuccess) {
    copy->graph = nullptr;
    copy->plan.trouble = why_not_copied(graph);
    next_last_error.call_or(kNotSupported);
  }
  std::lock_guard lock(mutex_);
  copies_[ready] = std::move(copy);
}

void Graphs::remove(GraphExec ready) {
  std::shared_ptr<Copy> last;
  std::lock_guard lock(mutex_);
  if (auto found = copies_.find(ready); found != copies_.end()) {
    last = std::move(found->second);
    copies_.erase(found);
  }
}

void Graphs::set_kernel(GraphExec ready, GraphNode node, const std::function<Error(GraphNode)>& change) {
  std::lock_guard lock(mutex_);
  auto found = copies_.find(ready);
  if (found == copies_.end() || !found->second->plan.trouble.empty()) return;
  Copy& copy = *found->second;
  try {
    GraphNode ours = nullptr;
    need(next_find.call_or(kNotSupported, &ours, node, copy.graph));
    need(change(ours));
    for (GraphStep& step : copy.plan.steps) {
      if (step.node == ours) step = kernel_step(ours);
    }
  } catch (const std::exception&) {
    copy.plan.trouble = "a node was changed after the graph was made ready, and its copy could not be";
    next_last_error.call_or(kNotSupported);
  }
}

void Graphs::lose(GraphExec ready, const char* trouble) {
  std::lock_guard lock(mutex_);
  if (auto found = copies_.find(ready); found != copies_.end()) found->second->plan.trouble = trouble;
}

std::shared_ptr<const GraphPlan> Graphs::plan(GraphExec ready) {
  std::lock_guard lock(mutex_);
  auto found = copies_.find(ready);
  if (found == copies_.end()) return nullptr;
  if (!found->second->planned) found->second->make_plan();
  return {found->second, &found->second->plan};
}

}  // namespace mneme::record::cuda
