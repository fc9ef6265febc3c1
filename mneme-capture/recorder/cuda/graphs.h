// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "recorder/core/graphs.h"
#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {

// CUDA's graphs, by the driver, whose graphs are also the runtime's: kernels are launched by the functions that launch
// kernels, and for any other node there is a graph that has such a node only.
struct CudaGraphs {
  struct Kernel {
    DriverKernelNode node{};  // its function may be a library's kernel
    bool cooperative = false;
    Dimensions cluster{1, 1, 1};
  };
  using Step = GraphStep<Kernel>;

  static const GraphCalls& calls();
  static CudaRuntime& runtime() { return cuda::runtime(); }
  static NodeKind kind_of(GraphNode node);
  static Step step_of(Graph graph, GraphNode node, NodeKind kind);
  static LaunchRequest request_of(GraphNode node);
  static Status set_kernel(GraphExec ready, GraphNode node, const LaunchRequest& request, void* function);
  static LaunchRequest request_of(const Step& step, Stream stream);
  static Status launch(const LaunchRequest& request, const Step& step, Stream stream);
  static Graph own_graph();
  static Step copied_step(GraphNode node, Graph own);

  // Conditions (graph_conditions.cc).
  static std::optional<GraphDecision> decision_of(GraphNode node);
  static Status get_value(const GraphDecision& decision, Stream stream, unsigned* value);
  static void begin(GraphExec ready, Stream stream, bool whole);
  // Memory that graphs allocate (graph_memory.cc).
  static void made(Graph graph, GraphExec ready);
  static void launched(GraphExec ready);
  static void gone(const void* graph);
  static Graph captured(Stream stream);
};

}  // namespace mneme::record::cuda
