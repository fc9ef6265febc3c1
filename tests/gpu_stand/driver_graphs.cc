// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA's driver interface to graphs, as far as recorders call it; and what the runtime's stand-in lacks of it.
#include <algorithm>

#include "driver.h"

using namespace mneme::gpu_stand;

extern "C" {

int cudaGraphNodeGetType(hipGraphNode_t node, int* type);

Result cuGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count) {
  return result(hipGraphGetNodes(graph, nodes, count));
}
Result cuGraphGetEdges(hipGraph_t graph, hipGraphNode_t* from, hipGraphNode_t* to, size_t* count) {
  return result(hipGraphGetEdges(graph, from, to, count));
}
Result cuGraphNodeGetType(hipGraphNode_t node, int* type) { return cudaGraphNodeGetType(node, type); }

// The graphs of the programs here have kernels without attributes only.
Result cudaGraphKernelNodeGetAttribute(hipGraphNode_t, int, void* value) {
  constexpr size_t kBytes = 64;
  std::fill_n(static_cast<char*>(value), kBytes, 0);
  return 0;
}

}  // extern "C"
