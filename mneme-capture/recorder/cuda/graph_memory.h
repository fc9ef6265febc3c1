// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that graphs allocate, by nodes or by calls that a stream captures: it comes from the recorder's arena, so that
// the graph's kernels are recorded and replayed with it, and stands for nodes in graphs that do nothing.
#pragma once
#include <functional>
#include <optional>

#include "recorder/cuda/graphs.h"

namespace mneme::record::cuda {

// `add` adds an empty node in place of the application's. A node that allocates, or frees, is added to the graph. What
// is not the recorder's to give is `real`'s.
Status add_allocation(GraphNode* node, Graph graph, AllocationNode* parameters, const Real& add, const Real& real);
Status add_free(GraphNode* node, Graph graph, void* memory, const Real& add, const Real& real);
// One that has a graph of its own.
Status add_child(Graph graph, const ChildNode& child, const Real& real);
// A node of any kind; `add` adds what is in the parameters that it is given.
Status add_any(GraphNode* node, Graph graph, AnyNode* parameters, const std::function<Status(AnyNode*)>& add);

// Memory of the thread's device that the graph and those made from it have; null: the recorder gives none.
void* allocate_for_graph(Graph graph, size_t size);

// As the application added such a node; nothing: it is none.
std::optional<AllocationNode> find_allocation(GraphNode node);
std::optional<void*> find_free(GraphNode node);
// The application asks for a node's type, and was given that of the node in its place.
Status type_asked(Status status, GraphNode node, int* type);

// Memory that is given out, or freed, in the order of a stream, which may be captured.
Status give_in_order(Stream stream, void** pointer, size_t size, const Real& real);
Status take_back_in_order(Stream stream, void* pointer, const Real& real);
// A graph's memory is freed by an ordinary call. False: it is no graph's.
bool give_graphs_memory_back(void* pointer);

// After a call of the application's that succeeded: `to` is a copy of the graph, or has it in a node.
void share_memory(const void* graph, const void* to);

}  // namespace mneme::record::cuda
