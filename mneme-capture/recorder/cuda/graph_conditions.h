// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conditions of graphs, which kernels set: their values lie in recorded memory (objects/graph_condition.h), so that
// kernels that set them are recorded and replayed like others, and a graph is done node by node as they say. Where the
// graph runs as a whole, kernels set the driver's as well.
#pragma once
#include <functional>

#include "recorder/cuda/graphs.h"

namespace mneme::record::cuda {

using ConditionHandle = unsigned long long;

// The application has made a condition, the driver's, which it gets where the program has no kernels that take ours.
Status make_condition(ConditionHandle* handle, Graph graph, unsigned value, unsigned flags, Status status);
// It adds a node that one decides about; `add` adds what is in the parameters.
Status add_condition(GraphNode* node, Graph graph, AnyNode* parameters, const std::function<Status(AnyNode*)>& add);

// After calls of the application's that succeeded, as for memory (graph_memory.h).
void share_conditions(const void* graph, const void* to);
void release_conditions(const void* graph);

}  // namespace mneme::record::cuda
