// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "recorder/core/graphs.h"
#include "recorder/hip/runtime.h"

namespace mneme::record::hip {

// HIP's graphs. For each node that is no plain kernel's there is a copy of the graph without all others: so nothing is
// read of nodes but what a kernel's are, and no function is used that adds others, of which releases have different
// ones.
struct HipGraphs {
  struct Kernel {
    KernelNode node{};
    bool cooperative = false;
  };
  using Step = GraphStep<Kernel>;

  static const GraphCalls& calls();
  static HipRuntime& runtime() { return hip::runtime(); }
  static NodeKind kind_of(GraphNode node);
  static Step step_of(Graph graph, GraphNode node, NodeKind kind);
  static LaunchRequest request_of(GraphNode node);
  static Status set_kernel(GraphExec ready, GraphNode node, const LaunchRequest& request, void* function);
  static LaunchRequest request_of(const Step& step, Stream stream);
  static Status launch(const LaunchRequest& request, const Step& step, Stream stream);
  static Graph own_graph() { return nullptr; }
  static Step copied_step(GraphNode, Graph) { throw GraphTrouble(kUntold); }
  static std::optional<GraphDecision> decision_of(GraphNode) { return std::nullopt; }
  static Status get_value(const GraphDecision&, Stream, unsigned*) { return kNotSupported; }
  static void begin(GraphExec, Stream, bool) {}
  static void made(Graph, GraphExec) {}
  static void launched(GraphExec) {}
  static void gone(const void*) {}
  static Graph captured(Stream) { return nullptr; }
};

}  // namespace mneme::record::hip
