// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conditions of graphs, which kernels set: their values lie in recorded memory (objects/graph_condition.h), so that
// kernels that set them are recorded and replayed like others, and a graph is done node by node as they say. Where the
// graph runs as a whole, kernels set the driver's as well.
#pragma once
#include <functional>
#include <optional>

#include "recorder/core/graphs.h"
#include "recorder/cuda/api.h"

namespace mneme::record::cuda {

using ConditionHandle = unsigned long long;

// The application makes a condition; `real` makes the driver's, which the application gets where the program has no
// kernels that take ours.
Error make_condition(ConditionHandle* handle, Graph graph, unsigned value, unsigned flags,
                     const std::function<Error(ConditionHandle*)>& real);
// It adds a node that one decides about; `add` adds what is in the parameters.
Error add_condition(GraphNode* node, Graph graph, AnyNode* parameters, const std::function<Error(AnyNode*)>& add);

// What decides about the node; nothing: no condition of ours does.
std::optional<GraphDecision> decision_of(GraphNode node);
// The value, when all that the stream was given is done.
Error get_value(const GraphDecision& decision, Stream stream, unsigned* value);

// After calls of the application's that succeeded, as for memory (graph_memory.h).
void share_conditions(const void* graph, const void* to);
void release_conditions(const void* graph);
// Before a graph runs: as a whole, or node by node.
void begin_conditions(GraphExec ready, Stream stream, bool whole);

}  // namespace mneme::record::cuda
