// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "hostgpu/graphs/graph.h"

namespace mneme::hostgpu {

// The copy that an executable graph has of a node, in child graphs too. With graph_lock(). Throws
// HipError(hipErrorInvalidValue): no such graph, or no such node in it.
hipGraphNode& node_in(hipGraphExec_t exec, const hipGraphNode* original);

struct UpdateResult {
  hipGraphExecUpdateResult result = hipGraphExecUpdateSuccess;
  hipGraphNode_t node = nullptr;  // of `from`, which does not fit
};
// Gives the nodes the calls of another graph's, if that has the same form.
UpdateResult update(ihipGraph& graph, ihipGraph& from);

}  // namespace mneme::hostgpu
