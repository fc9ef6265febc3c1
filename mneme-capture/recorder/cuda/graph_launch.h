// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the functions for graphs of CUDA's runtime and of its driver have in common: both have the same graphs.
#pragma once
#include <functional>

#include "recorder/cuda/graph_memory.h"
#include "recorder/cuda/graphs.h"

namespace mneme::record::cuda {

// What a function has returned that begins to capture a stream; one that ends it, which `real` calls.
Error begun(Error status);
Error end_capture(Stream stream, const std::function<Error()>& real);
// One that made a graph ready, or changed what one does that is.
inline Error made(Error status, GraphExec* ready, Graph graph) {
  if (status == kSuccess) replace_memory(graph, *ready);
  return graph_made<CudaGraphs>(recorder(), status, ready, graph);
}
inline void unmade(GraphExec ready) {
  if (recorder()) Graphs<CudaGraphs>::all().remove(ready);
  release_memory(ready);
}
// One that changed a node that is no kernel's.
inline Error changed(Error status, GraphExec ready) { return graph_changed<CudaGraphs>(recorder(), status, ready); }

// Calls a function that changes a node of one that is ready.
template <class... Parameters, class... Arguments>
Error set(const Next<Error(GraphExec, GraphNode, Parameters...)>& next, GraphExec ready, GraphNode node,
          Arguments... arguments) {
  return changed(next.call_or(kNotSupported, ready, node, arguments...), ready);
}

Error launch_graph(GraphExec ready, Stream stream, const std::function<Error()>& real);

}  // namespace mneme::record::cuda
