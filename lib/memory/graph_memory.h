// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that nodes of graphs allocate and free. A vendor's graph backs it while the graph runs. Here it is ordinary
// memory: allocated when the node is added, kept for as long as a graph may use it, and the node is an empty one.
#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace mneme::memory {

// Whose such memory is, and which nodes stand for it. Graphs, those that are ready to be launched included, and nodes
// are known by their handles. `Allocation` is a vendor's parameters of a node, with the address as `pointer`.
// Thread-safe.
template <class Allocation>
class GraphMemory {
 public:
  using Handle = const void*;

  // The graph has a node that allocates memory, which is its alone so far; one that frees it. `node`: null if the
  // graph is captured, where no node stands for the call.
  void add_allocation(Handle graph, Handle node, const Allocation& allocation);
  // False: no graph allocates such memory.
  bool add_free(Handle graph, Handle node, void* memory);
  // As it was added; nothing: the node is another.
  std::optional<Allocation> allocation(Handle node) const { return find(allocations_, node); }
  std::optional<void*> freed(Handle node) const { return find(frees_, node); }

  // `to` was made from `graph`, or contains it, and uses its memory as well.
  void share(Handle graph, Handle to);
  // These return the memory that neither a graph nor the application has any more, to be released.
  // `ready` was made from `graph`, and uses its memory in place of what it used before.
  std::vector<void*> replace(Handle graph, Handle ready);
  // After a launch the application has what the graph allocates and does not free.
  std::vector<void*> launch(Handle graph);
  // The graph is gone.
  std::vector<void*> remove(Handle graph);

  // The application frees it by an ordinary call. True: a graph may use it again, and keeps it.
  bool give_back(void* memory);

 private:
  struct Piece {
    int graphs = 0;     // that allocate it
    bool held = false;  // by the application
  };
  struct Graph {
    std::vector<void*> allocates, frees;
    std::vector<Handle> nodes;
  };

  template <class Parameters>
  std::optional<Parameters> find(const std::map<Handle, Parameters>& map, Handle node) const {
    std::lock_guard lock(mutex_);
    auto found = map.find(node);
    return found == map.end() ? std::nullopt : std::optional(found->second);
  }

  void use(Graph& its, const Graph& other);
  std::vector<void*> leave(const Graph& its);

  mutable std::mutex mutex_;
  std::map<void*, Piece> pieces_;
  std::map<Handle, Graph> graphs_;
  std::map<Handle, Allocation> allocations_;
  std::map<Handle, void*> frees_;
};

template <class Allocation>
void GraphMemory<Allocation>::add_allocation(Handle graph, Handle node, const Allocation& allocation) {
  std::lock_guard lock(mutex_);
  Graph& its = graphs_[graph];
  its.allocates.push_back(allocation.pointer);
  pieces_[allocation.pointer].graphs++;
  if (!node) return;
  allocations_.insert_or_assign(node, allocation);
  its.nodes.push_back(node);
}

template <class Allocation>
bool GraphMemory<Allocation>::add_free(Handle graph, Handle node, void* memory) {
  std::lock_guard lock(mutex_);
  if (!pieces_.contains(memory)) return false;
  Graph& its = graphs_[graph];
  its.frees.push_back(memory);
  if (!node) return true;
  frees_[node] = memory;
  its.nodes.push_back(node);
  return true;
}

template <class Allocation>
void GraphMemory<Allocation>::use(Graph& its, const Graph& other) {
  its.allocates.insert(its.allocates.end(), other.allocates.begin(), other.allocates.end());
  its.frees.insert(its.frees.end(), other.frees.begin(), other.frees.end());
  for (void* memory : other.allocates) pieces_[memory].graphs++;
}

// The nodes are known no more. What the application has stays, without a graph.
template <class Allocation>
std::vector<void*> GraphMemory<Allocation>::leave(const Graph& its) {
  std::vector<void*> unused;
  for (void* memory : its.allocates) {
    auto piece = pieces_.find(memory);
    if (--piece->second.graphs > 0 || piece->second.held) continue;
    unused.push_back(memory);
    pieces_.erase(piece);
  }
  for (Handle node : its.nodes) {
    allocations_.erase(node);
    frees_.erase(node);
  }
  return unused;
}

template <class Allocation>
void GraphMemory<Allocation>::share(Handle graph, Handle to) {
  std::lock_guard lock(mutex_);
  auto found = graphs_.find(graph);
  if (found != graphs_.end() && graph != to) use(graphs_[to], found->second);  // a map's elements stay where they are
}

template <class Allocation>
std::vector<void*> GraphMemory<Allocation>::replace(Handle graph, Handle ready) {
  std::lock_guard lock(mutex_);
  if (graph == ready) return {};
  Graph before, now;
  if (auto found = graphs_.find(ready); found != graphs_.end()) {
    before = std::move(found->second);
    graphs_.erase(found);
  }
  if (auto found = graphs_.find(graph); found != graphs_.end()) use(now, found->second);
  if (!now.allocates.empty() || !now.frees.empty()) graphs_[ready] = std::move(now);
  return leave(before);
}

template <class Allocation>
std::vector<void*> GraphMemory<Allocation>::launch(Handle graph) {
  std::lock_guard lock(mutex_);
  auto found = graphs_.find(graph);
  if (found == graphs_.end()) return {};
  for (void* memory : found->second.allocates) pieces_[memory].held = true;
  std::vector<void*> unused;
  for (void* memory : found->second.frees) {
    auto piece = pieces_.find(memory);
    if (piece == pieces_.end()) continue;
    piece->second.held = false;
    if (piece->second.graphs > 0) continue;
    unused.push_back(memory);
    pieces_.erase(piece);
  }
  return unused;
}

template <class Allocation>
bool GraphMemory<Allocation>::give_back(void* memory) {
  std::lock_guard lock(mutex_);
  auto found = pieces_.find(memory);
  if (found == pieces_.end()) return false;
  found->second.held = false;
  if (found->second.graphs > 0) return true;
  pieces_.erase(found);
  return false;
}

template <class Allocation>
std::vector<void*> GraphMemory<Allocation>::remove(Handle graph) {
  std::lock_guard lock(mutex_);
  auto found = graphs_.find(graph);
  if (found == graphs_.end()) return {};
  const Graph its = std::move(found->second);
  graphs_.erase(found);
  return leave(its);
}

}  // namespace mneme::memory
