// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda/graph_memory.h"

#include <mutex>
#include <utility>
#include <vector>

#include "memory/graph_memory.h"
#include "recorder/core/memory_hooks.h"
#include "recorder/cuda/graph_conditions.h"
#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {

CALL(Status, cuStreamGetCaptureInfo_v2, Stream, int*, unsigned long long*, Graph*, const GraphNode**, size_t*)

namespace {

// Never destroyed: applications destroy graphs from destructors that run last.
memory::GraphMemory<AllocationNode>& graph_memory() {
  static auto* only = new memory::GraphMemory<AllocationNode>;
  return *only;
}

// The graph that the stream's calls become nodes of; null: the stream is not captured.
Graph captured_graph(Stream stream) {
  int capturing = 0;
  unsigned long long id = 0;
  Graph graph = nullptr;
  const GraphNode* before = nullptr;
  size_t count = 0;
  const Status status = next::cuStreamGetCaptureInfo_v2(stream, &capturing, &id, &graph, &before, &count);
  return status == kSuccess ? graph : nullptr;
}

// Null: the recorder gives none.
void* allocate(int device, size_t size) {
  Core* core = runtime().recording();
  const bool ours = core && size > 0 && Core::is_recorded(device);
  return ours ? core->allocate(Space::kDevice, size, 0, device) : nullptr;
}

}  // namespace

Status add_allocation(GraphNode* node, Graph graph, AllocationNode* parameters, const Real& add, const Real& real) {
  const bool ours = node && parameters && parameters->location_type == kLocationDevice;
  void* memory = ours ? allocate(parameters->device, parameters->size) : nullptr;
  if (!memory) return real();
  if (const Status status = add(); status != kSuccess) {
    recorder()->release(memory);
    return status;
  }
  parameters->pointer = memory;
  graph_memory().add_allocation(graph, *node, *parameters);
  return kSuccess;
}

Status add_free(GraphNode* node, Graph graph, void* memory, const Real& add, const Real& real) {
  if (!node || !known_to(recorder(), memory)) return real();
  const Status status = add();
  if (status != kSuccess) return status;
  graph_memory().add_free(graph, *node, memory);
  return kSuccess;
}

// A child that becomes the graph's own has no handle any more.
Status add_child(Graph graph, const ChildNode& child, const Real& real) {
  const Status status = real();
  if (status != kSuccess) return status;
  share_memory(child.graph, graph);
  if (child.ownership == kOwnershipMove) CudaGraphs::gone(child.graph);
  return status;
}

Status add_any(GraphNode* node, Graph graph, AnyNode* parameters, const std::function<Status(AnyNode*)>& add) {
  AnyNode empty{};
  empty.type = kEmptyNode;
  auto add_empty = [&] { return add(&empty); };
  auto real = [&] { return add(parameters); };
  const int type = parameters ? parameters->type : kEmptyNode;
  if (type == kAllocationNode) return add_allocation(node, graph, &parameters->allocation, add_empty, real);
  if (type == kFreeNode) return add_free(node, graph, parameters->freed, add_empty, real);
  if (type == kGraphNode) return add_child(graph, parameters->child, real);
  if (type == kConditionNode && node) return add_condition(node, graph, parameters, add);
  return real();
}

void* allocate_for_graph(Graph graph, size_t size) {
  AllocationNode allocation{};
  allocation.pointer = allocate(runtime().device(), size);
  if (!allocation.pointer) return nullptr;
  graph_memory().add_allocation(graph, nullptr, allocation);
  graph_memory().add_free(graph, nullptr, allocation.pointer);  // the application never has it
  return allocation.pointer;
}

std::optional<AllocationNode> find_allocation(GraphNode node) { return graph_memory().allocation(node); }
std::optional<void*> find_free(GraphNode node) { return graph_memory().freed(node); }

Status type_asked(Status status, GraphNode node, int* type) {
  if (status != kSuccess || !type || *type != kEmptyNode) return status;
  if (find_allocation(node)) *type = kAllocationNode;
  if (find_free(node)) *type = kFreeNode;
  return status;
}

Status give_in_order(Stream stream, void** pointer, size_t size, const Real& real) {
  runtime().start();
  const int device = runtime().device();
  if (!runtime().notes_down(stream)) return give_in(recorder(), stream, device, pointer, size, real);
  Graph graph = pointer ? captured_graph(stream) : nullptr;
  void* memory = graph ? allocate(device, size) : nullptr;
  if (!memory) return real();
  AllocationNode allocation{};
  allocation.pointer = *pointer = memory;
  graph_memory().add_allocation(graph, nullptr, allocation);
  return kSuccess;
}

Status take_back_in_order(Stream stream, void* pointer, const Real& real) {
  if (!runtime().notes_down(stream)) {
    if (give_graphs_memory_back(pointer)) return kSuccess;
    return take_back_in(recorder(), stream, pointer, real);
  }
  Graph graph = captured_graph(stream);
  return graph && graph_memory().add_free(graph, nullptr, pointer) ? kSuccess : real();
}

bool give_graphs_memory_back(void* pointer) { return recorder() && graph_memory().give_back(pointer); }

// To release waits for the device, which would spoil a graph that is being captured.
void release(const std::vector<void*>& memory) {
  static auto* kept = new std::pair<std::mutex, std::vector<void*>>;
  std::vector<void*> unused;
  {
    std::lock_guard lock(kept->first);
    kept->second.insert(kept->second.end(), memory.begin(), memory.end());
    if (runtime().captures.load() == 0) std::swap(unused, kept->second);
  }
  for (void* each : unused) recorder()->release(each);
}

void share_memory(const void* graph, const void* to) {
  if (!recorder()) return;
  graph_memory().share(graph, to);
  share_conditions(graph, to);
}

void CudaGraphs::made(Graph graph, GraphExec ready) {
  if (!recorder()) return;
  release_conditions(ready);
  share_conditions(graph, ready);
  release(graph_memory().replace(graph, ready));
}

void CudaGraphs::launched(GraphExec ready) {
  if (recorder()) release(graph_memory().launch(ready));
}

Graph CudaGraphs::captured(Stream stream) { return recorder() ? captured_graph(stream) : nullptr; }

void CudaGraphs::gone(const void* graph) {
  if (!recorder()) return;
  release_conditions(graph);
  release(graph_memory().remove(graph));
}

}  // namespace mneme::record::cuda
