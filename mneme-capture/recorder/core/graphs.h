// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The application's graphs that are ready to be launched, whatever the vendor, and how their kernels are recorded: when
// a graph is launched it is done node by node, as long as some of its kernels are to be.
//
// A vendor is a type with these static members:
//   Kernel                     what is kept of a kernel's node
//   calls(), runtime()         the vendor's GraphCalls and its VendorRuntime
//   kind_of(node)              throws
//   step_of(graph, node, kind) of a kernel or another node that does something; throws
//   own_graph()                that nodes are copied to one by one; null: they are not
//   copied_step(node, own)     of a kernel's node, by a copy of it; throws
//   decision_of(node)          about which graphs a value decides there
//   get_value(decision, stream, &value)
//   begin(ready, stream, whole)  before the application's graph runs, node by node or whole
//   made(graph, ready)         the application made the graph ready, or updated one that is
//   launched(ready)            launched one
//   gone(graph)                destroyed a graph, or one that was ready
//   captured(stream)           the graph that the stream's calls become nodes of, if it is of use; else null
//   request_of(node)           of a kernel's node; throws
//   set_kernel(ready, node, request, function)   what that does from now on; the vendor's status
//   request_of(step, stream)   of a kernel's
//   launch(request, step, stream)  records a kernel's
#pragma once
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "recorder/core/vendor_runtime.h"

namespace mneme::record {

using Graph = void*;      // …Graph_t
using GraphExec = void*;  // …GraphExec_t
using GraphNode = void*;  // …GraphNode_t

// Calls that are both vendors' but for how their names begin. 0 is success.
struct GraphCalls {
  constexpr GraphCalls(const Devices& others, const char* library, const char* prefix,
                       int (*edges)(Graph, GraphNode*, GraphNode*, size_t*))
      : others(others), library(library), prefix(prefix), edges(edges) {}
  const Devices& others;
  const char* library;
  const char* prefix;
  Next<int(Graph*, unsigned flags)> create{library, prefix, "GraphCreate"};
  Next<int(Graph* copy, Graph)> clone{library, prefix, "GraphClone"};
  Next<int(GraphNode* copy, GraphNode, Graph of)> find{library, prefix, "GraphNodeFindInClone"};
  Next<int(Graph)> destroy{library, prefix, "GraphDestroy"};
  Next<int(GraphExec)> destroy_ready{library, prefix, "GraphExecDestroy"};
  Next<int(GraphExec, void* stream)> launch{library, prefix, "GraphLaunch"};
  Next<int(GraphNode, Graph*)> get_child{library, prefix, "GraphChildGraphNodeGetGraph"};
  Next<int(Graph, GraphNode*, size_t*)> nodes{library, prefix, "GraphGetNodes"};
  int (*edges)(Graph, GraphNode* from, GraphNode* to, size_t*);
};

enum class NodeKind { kKernel, kGraph, kEmpty, kOther, kMemory, kCondition, kForeign };

// Why a graph is not done node by node.
class GraphTrouble : public std::exception {
 public:
  explicit GraphTrouble(const char* text) : text_(text) {}
  const char* what() const noexcept override { return text_; }

 private:
  const char* text_;
};
inline constexpr char kUntold[] = "the runtime does not list the nodes of the graph";
inline void need(int status) {
  if (status != 0) throw GraphTrouble(kUntold);
}
const char* why_not_taken_apart(NodeKind kind);

std::vector<GraphNode> nodes_of(const GraphCalls& calls, Graph graph);
// A node comes after all that it depends on.
std::vector<GraphNode> nodes_in_order(const GraphCalls& calls, Graph graph);

// About which graphs, the application's, a value decides that kernels set.
struct GraphDecision {
  enum Kind { kIf, kWhile, kSwitch };
  uint64_t value = 0;  // where it is
  Kind kind = kIf;
  std::vector<Graph> bodies;
};

// One thing that a launched graph does: a kernel, what one other node does, or what a value decides.
template <class Kernel>
struct GraphStep {
  GraphNode node = nullptr;  // of the recorder's copy
  std::optional<Kernel> kernel = {};
  GraphExec alone = nullptr;  // a graph of the recorder's that does what the node does; null where it needs none
  std::optional<GraphDecision> decision = {};
  std::vector<std::vector<GraphStep>> bodies = {};  // of the decision
};

// What a graph does, in an order in which it may be done.
template <class Kernel>
struct GraphPlan {
  std::vector<GraphStep<Kernel>> steps;
  std::string trouble;  // why it cannot be done step by step; empty: it can
};

// The last time that a graph was launched. Launched again, in whatever stream, it does nothing before that has ended:
// the runtime sees to that only where both times it launches the graph itself.
class LastTime {
 public:
  explicit LastTime(const GraphCalls& calls) : calls_(calls) {}
  ~LastTime();
  LastTime(const LastTime&) = delete;
  LastTime& operator=(const LastTime&) = delete;

  // Before the stream is given anything of it, node by node or whole; and when it has been given all.
  void await(void* stream, bool whole);
  void set(void* stream, bool whole);

 private:
  enum class Way { kNone, kNodes, kWhole };

  const GraphCalls& calls_;
  std::mutex mutex_;
  void* event_ = nullptr;
  Way way_ = Way::kNone;
};

// The graphs that are ready, each with a copy of what it was made from: of one that is ready nobody can ask what is in
// it. Thread-safe.
template <class Vendor>
class Graphs {
 public:
  using Plan = GraphPlan<typename Vendor::Kernel>;
  using Steps = std::vector<GraphStep<typename Vendor::Kernel>>;

  static Graphs& all() {  // never destroyed
    static auto* only = new Graphs;
    return *only;
  }

  void add(GraphExec ready, Graph graph);
  void remove(GraphExec ready);
  // The application has changed a kernel's node, and `change` does the same to the copy's; or something that is not
  // followed here.
  void set_kernel(GraphExec ready, GraphNode node, const std::function<int(GraphNode)>& change);
  void lose(GraphExec ready, const char* trouble);

  struct Known {
    std::shared_ptr<const Plan> plan;
    std::shared_ptr<LastTime> last_time;
  };
  std::optional<Known> find(GraphExec ready);

 private:
  struct Copy {
    ~Copy() {
      release(plan.steps);
      if (graph) Vendor::calls().destroy(graph);
    }
    // `from`: what the copy is of, of which single nodes are copied now. Null: it is one of all nodes.
    void make_plan(Graph from = nullptr);

    Graph graph = nullptr;
    bool planned = false;
    Plan plan;
    std::shared_ptr<LastTime> last_time = std::make_shared<LastTime>(Vendor::calls());
  };

  static void release(GraphExec alone) {
    if (alone) Vendor::calls().destroy_ready(alone);
  }
  static void release(const Steps& steps) {
    for (const auto& step : steps) {
      release(step.alone);
      for (const Steps& body : step.bodies) release(body);
    }
  }
  // `own`: where kernels' nodes are copied to; null: they stay as they are.
  static void add_steps(Graph graph, Graph own, Steps& steps);

  std::mutex mutex_;
  std::map<GraphExec, std::shared_ptr<Copy>> copies_;
};

template <class Vendor>
void Graphs<Vendor>::add_steps(Graph graph, Graph own, Steps& steps) {
  for (GraphNode node : nodes_in_order(Vendor::calls(), graph)) {
    Graph child = nullptr;
    switch (const NodeKind kind = Vendor::kind_of(node)) {
      case NodeKind::kKernel:
      case NodeKind::kOther:
        steps.push_back(own && kind == NodeKind::kKernel ? Vendor::copied_step(node, own)
                                                         : Vendor::step_of(graph, node, kind));
        break;
      case NodeKind::kGraph:
        need(Vendor::calls().get_child(node, &child));
        add_steps(child, own, steps);
        break;
      case NodeKind::kEmpty:
        break;
      case NodeKind::kCondition:
        if (auto decision = Vendor::decision_of(node)) {
          steps.push_back({.node = node, .decision = std::move(decision)});
          auto& step = steps.back();
          for (Graph body : step.decision->bodies) add_steps(body, own, step.bodies.emplace_back());
          break;
        }
        [[fallthrough]];
      default:
        throw GraphTrouble(why_not_taken_apart(kind));
    }
  }
}

template <class Vendor>
void Graphs<Vendor>::Copy::make_plan(Graph from) {
  planned = true;
  if (!plan.trouble.empty()) return;
  try {
    if (!graph) throw GraphTrouble("the runtime does not copy the graph");
    add_steps(from ? from : graph, from ? graph : nullptr, plan.steps);
  } catch (const std::exception& error) {
    plan.trouble = error.what();
    Vendor::calls().others.forget_error();  // our question, not the application's error
  }
}

// Graphs that allocate or have conditions are not copied as a whole.
template <class Vendor>
void Graphs<Vendor>::add(GraphExec ready, Graph graph) {
  auto copy = std::make_shared<Copy>();
  if (Vendor::calls().clone(&copy->graph, graph) != 0) {
    Vendor::calls().others.forget_error();
    copy->graph = Vendor::own_graph();
    copy->make_plan(graph);
  }
  std::lock_guard lock(mutex_);
  std::shared_ptr<Copy>& known = copies_[ready];
  if (known) copy->last_time = known->last_time;
  std::swap(known, copy);
}

template <class Vendor>
void Graphs<Vendor>::remove(GraphExec ready) {
  std::shared_ptr<Copy> last;
  std::lock_guard lock(mutex_);
  if (auto found = copies_.find(ready); found != copies_.end()) {
    last = std::move(found->second);
    copies_.erase(found);
  }
}

template <class Vendor>
void Graphs<Vendor>::set_kernel(GraphExec ready, GraphNode node, const std::function<int(GraphNode)>& change) {
  std::lock_guard lock(mutex_);
  auto found = copies_.find(ready);
  if (found == copies_.end() || !found->second->plan.trouble.empty()) return;
  Copy& copy = *found->second;
  try {
    GraphNode ours = nullptr;
    need(Vendor::calls().find(&ours, node, copy.graph));
    need(change(ours));
    for (auto& step : copy.plan.steps) {
      if (step.node != ours) continue;
      auto changed = Vendor::step_of(copy.graph, ours, NodeKind::kKernel);
      release(step.alone);
      step = std::move(changed);
    }
  } catch (const std::exception&) {
    copy.plan.trouble = "a node was changed after the graph was made ready, and its copy could not be";
    Vendor::calls().others.forget_error();
  }
}

template <class Vendor>
void Graphs<Vendor>::lose(GraphExec ready, const char* trouble) {
  std::lock_guard lock(mutex_);
  if (auto found = copies_.find(ready); found != copies_.end()) found->second->plan.trouble = trouble;
}

template <class Vendor>
std::optional<typename Graphs<Vendor>::Known> Graphs<Vendor>::find(GraphExec ready) {
  std::lock_guard lock(mutex_);
  auto found = copies_.find(ready);
  if (found == copies_.end()) return std::nullopt;
  const std::shared_ptr<Copy>& copy = found->second;
  if (!copy->planned) copy->make_plan();
  return Known{{copy, &copy->plan}, copy->last_time};
}

// One for each kernel, whether its turn comes or not.
template <class Vendor>
void add_requests(const typename Graphs<Vendor>::Steps& steps, Stream stream, std::vector<LaunchRequest>& requests) {
  for (const auto& step : steps) {
    if (step.kernel) requests.push_back(Vendor::request_of(step, stream));
    for (const auto& body : step.bodies) add_requests<Vendor>(body, stream, requests);
  }
}

template <class Vendor>
Status run_steps(const typename Graphs<Vendor>::Steps& steps, Stream stream);

template <class Vendor>
Status run_decision(const GraphStep<typename Vendor::Kernel>& step, Stream stream) {
  const GraphDecision& decision = *step.decision;
  for (;;) {
    unsigned value = 0;
    if (const int status = Vendor::get_value(decision, stream, &value); status != 0) return status;
    const bool loops = decision.kind == GraphDecision::kWhile;
    const size_t which = decision.kind == GraphDecision::kSwitch ? value : value ? 0 : loops ? step.bodies.size() : 1;
    if (which >= step.bodies.size()) return 0;
    const int status = run_steps<Vendor>(step.bodies[which], stream);
    if (status != 0 || !loops) return status;
  }
}

template <class Vendor>
Status run_steps(const typename Graphs<Vendor>::Steps& steps, Stream stream) {
  for (const auto& step : steps) {
    const int status = step.decision ? run_decision<Vendor>(step, stream)
                       : step.kernel
                           ? Vendor::launch(Vendor::request_of(step, stream), step, stream)
                           : change(Vendor::runtime(), [&] { return Vendor::calls().launch(step.alone, stream); });
    if (status != 0) return status;
  }
  return 0;
}

// ---- variants in the place of kernels' nodes of graphs that are ready (mneme-capture --apply) ----

template <class Vendor>
class AppliedGraphs {
 public:
  static AppliedGraphs& all() {  // never destroyed
    static auto* only = new AppliedGraphs;
    return *only;
  }

  // The application has made it ready; or updated one that is, of which the vendor knows the nodes of the first graph:
  // which of them is which of this one's, it does not say.
  void exchange(Core& core, GraphExec ready, Graph graph) {
    Nodes nodes;
    add(core, ready, graph, nullptr, nodes);
    std::lock_guard lock(mutex_);
    nodes_[ready] = std::move(nodes);
  }
  void updated(Core& core, GraphExec ready, Graph graph) {
    Nodes nodes;
    add(core, nullptr, graph, nullptr, nodes);
    std::lock_guard lock(mutex_);
    nodes_[ready] = std::move(nodes);
  }
  void launched(Core& core, GraphExec ready) {
    std::lock_guard lock(mutex_);
    const auto found = nodes_.find(ready);
    if (found == nodes_.end()) return;
    for (const Node& node : found->second) core.applier()->launched(node.launches);
  }
  // The application has changed a node, or what is in a child.
  void change(GraphExec ready, GraphNode changed) {
    std::lock_guard lock(mutex_);
    const auto found = nodes_.find(ready);
    if (found == nodes_.end()) return;
    for (Node& node : found->second) {
      if (node.node == changed || node.child == changed) keep(node, "the application has changed its node of a graph");
    }
  }
  void forget(GraphExec ready) {
    std::lock_guard lock(mutex_);
    nodes_.erase(ready);
  }

 private:
  struct Node {
    GraphNode node = nullptr;
    GraphNode child = nullptr;  // that it is in; null: in none
    Applier::InGraph launches;
  };
  using Nodes = std::vector<Node>;

  static void keep(Node& node, const char* reason) { node.launches = {node.launches.kernel, nullptr, reason}; }

  // `ready`: null where nothing can be exchanged. What cannot be looked into keeps the application's own kernels.
  static void add(Core& core, GraphExec ready, Graph graph, GraphNode child, Nodes& nodes) noexcept try {
    for (GraphNode node : nodes_of(Vendor::calls(), graph)) {
      const NodeKind kind = Vendor::kind_of(node);
      Graph inner = nullptr;
      if (kind == NodeKind::kGraph && Vendor::calls().get_child(node, &inner) == kSuccess) {
        add(core, ready, inner, child ? child : node, nodes);
      }
      if (kind == NodeKind::kKernel) add_kernel(core, ready, node, child, nodes);
    }
  } catch (const std::exception&) {
    Vendor::calls().others.forget_error();
  }
  static void add_kernel(Core& core, GraphExec ready, GraphNode node, GraphNode child, Nodes& nodes) noexcept try {
    LaunchRequest request = Vendor::request_of(node);
    Node added{node, child, core.find_in_graph(request)};
    if (!added.launches.kernel) return;
    if (added.launches.hit && !ready) keep(added, "its graph was updated after it was made ready");
    if (added.launches.hit) {
      void* function = core.applier()->for_graph(added.launches, request);
      if (function && Vendor::set_kernel(ready, node, request, function) != kSuccess) {
        Vendor::calls().others.forget_error();
        keep(added, "it is in a graph, where the runtime does not take the variant");
      }
    }
    nodes.push_back(std::move(added));
  } catch (const std::exception&) {
    Vendor::calls().others.forget_error();
  }

  std::mutex mutex_;
  std::map<GraphExec, Nodes> nodes_;
};

// ---- what hooks do, of which `real` makes the application's own call ----

// It launches a graph. One whose kernels are only counted is launched as it is.
template <class Vendor>
Status launch_graph_of(Core& core, GraphExec ready, Stream stream, const Real& real) {
  const auto known = Graphs<Vendor>::all().find(ready);
  auto whole = [&] {
    if (known) known->last_time->await(stream, true);
    Vendor::begin(ready, stream, true);
    const Status status = real();
    if (known) known->last_time->set(stream, true);
    if (core.applier() && status == kSuccess) AppliedGraphs<Vendor>::all().launched(core, ready);
    return status;
  };
  if (!known || !core.recording()) {
    return core.pass("(graph)", "the graph was made ready before recording began", whole);
  }
  const auto& plan = known->plan;
  if (!plan->trouble.empty()) return core.pass("(graph)", plan->trouble.c_str(), whole);
  std::vector<LaunchRequest> requests;
  add_requests<Vendor>(plan->steps, stream, requests);
  if (!(core.applier() && core.applier()->checks()) && core.count_settled(requests)) return whole();
  known->last_time->await(stream, false);
  Vendor::begin(ready, stream, false);
  if (const Status status = run_steps<Vendor>(plan->steps, stream); status != kSuccess) return status;
  known->last_time->set(stream, false);
  return kSuccess;
}

template <class Vendor>
Status launch_graph(VendorRuntime& runtime, const Real& real, GraphExec ready, Stream stream) {
  Core* core = runtime.gpu_recorder();
  if (!core || runtime.notes_down(stream)) return real();
  const Status status = launch_graph_of<Vendor>(*core, ready, stream, real);
  if (status == kSuccess) Vendor::launched(ready);
  return status;
}

// It makes a graph ready, updates one that is, or destroys one.
template <class Vendor>
Core* note_ready(VendorRuntime& runtime, GraphExec ready, Graph graph) {
  Vendor::made(graph, ready);
  Core* core = runtime.gpu_recorder();
  if (core && core->recording()) Graphs<Vendor>::all().add(ready, graph);
  return core && core->applier() ? core : nullptr;
}
template <class Vendor>
Status make_ready(VendorRuntime& runtime, const Real& real, GraphExec* ready, Graph graph, ...) {
  const Status status = real();
  if (status != kSuccess) return status;
  if (Core* core = note_ready<Vendor>(runtime, *ready, graph)) {
    AppliedGraphs<Vendor>::all().exchange(*core, *ready, graph);
  }
  return status;
}
template <class Vendor>
Status update_ready(VendorRuntime& runtime, const Real& real, GraphExec ready, Graph graph, ...) {
  const Status status = real();
  if (status != kSuccess) return status;
  if (Core* core = note_ready<Vendor>(runtime, ready, graph)) {
    AppliedGraphs<Vendor>::all().updated(*core, ready, graph);
  }
  return status;
}
template <class Vendor>
Status destroy_ready(VendorRuntime& runtime, const Real& real, GraphExec ready) {
  if (runtime.gpu_recorder()) {
    Graphs<Vendor>::all().remove(ready);
    AppliedGraphs<Vendor>::all().forget(ready);
  }
  Vendor::gone(ready);
  return real();
}

// It changes a kernel's node of one that is ready, as `change` does a copy's. Or another node: what it does now is not
// what it did when the graph was made ready.
template <class Vendor, const auto& change>
Status set_kernel(VendorRuntime& runtime, const Real& real, GraphExec ready, GraphNode node, const void* parameters) {
  const Status status = real();
  if (runtime.gpu_recorder() && status == kSuccess) {
    Graphs<Vendor>::all().set_kernel(ready, node, [&](GraphNode ours) { return change(ours, parameters); });
    AppliedGraphs<Vendor>::all().change(ready, node);
  }
  return status;
}
template <class Vendor>
Status set_node(VendorRuntime& runtime, const Real& real, GraphExec ready, GraphNode node, ...) {
  const Status status = real();
  if (runtime.gpu_recorder() && status == kSuccess) {
    Graphs<Vendor>::all().lose(ready, "a node that is no kernel's was changed after the graph was made ready");
    AppliedGraphs<Vendor>::all().change(ready, node);
  }
  return status;
}

// It begins to note a graph down from a stream, or ends it: what was noted down in vain has ended, too, and is gone;
// where it is the wrong stream or thread, nothing has.
inline Status begin_capture(VendorRuntime& runtime, const Real& real, ...) {
  const Status status = real();
  if (status == kSuccess) ++runtime.captures;
  return status;
}
template <class Vendor>
Status end_capture(VendorRuntime& runtime, const Real& real, Stream stream, ...) {
  constexpr Status kInvalidated = 901, kUnjoined = 904;  // …ErrorStreamCapture…, of both vendors
  Graph captured = Vendor::captured(stream);
  const Status status = real();
  if (status != kSuccess && status != kInvalidated && status != kUnjoined) return status;
  if (runtime.captures.load() > 0) --runtime.captures;
  if (status != kSuccess && captured) Vendor::gone(captured);
  return status;
}

}  // namespace mneme::record
