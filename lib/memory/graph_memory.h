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
  // After a launch the application has what the graph allocates and does not free.
  void launch(Handle graph);
  // The application frees it by an ordinary call. True: a graph may use it again, and keeps it.
  bool give_back(void* memory);
  // The graph is gone. Returns the memory that neither a graph nor the application has, to be released; memory that
  // the application has is ordinary memory from now on.
  std::vector<void*> remove(Handle graph);

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
void GraphMemory<Allocation>::share(Handle graph, Handle to) {
  std::lock_guard lock(mutex_);
  auto found = graphs_.find(graph);
  if (found == graphs_.end() || graph == to) return;
  Graph& its = graphs_[to];  // a map's elements stay where they are
  its.allocates.insert(its.allocates.end(), found->second.allocates.begin(), found->second.allocates.end());
  its.frees.insert(its.frees.end(), found->second.frees.begin(), found->second.frees.end());
  for (void* memory : found->second.allocates) pieces_[memory].graphs++;
}

template <class Allocation>
void GraphMemory<Allocation>::launch(Handle graph) {
  std::lock_guard lock(mutex_);
  auto found = graphs_.find(graph);
  if (found == graphs_.end()) return;
  auto set_held = [&](const std::vector<void*>& all, bool held) {
    for (void* memory : all) {
      if (auto piece = pieces_.find(memory); piece != pieces_.end()) piece->second.held = held;
    }
  };
  set_held(found->second.allocates, true);
  set_held(found->second.frees, false);
}

template <class Allocation>
bool GraphMemory<Allocation>::give_back(void* memory) {
  std::lock_guard lock(mutex_);
  auto found = pieces_.find(memory);
  if (found == pieces_.end()) return false;
  found->second.held = false;
  return true;
}

template <class Allocation>
std::vector<void*> GraphMemory<Allocation>::remove(Handle graph) {
  std::lock_guard lock(mutex_);
  auto found = graphs_.find(graph);
  if (found == graphs_.end()) return {};
  std::vector<void*> unused;
  for (void* memory : found->second.allocates) {
    auto piece = pieces_.find(memory);
    if (--piece->second.graphs > 0) continue;
    if (!piece->second.held) unused.push_back(memory);
    pieces_.erase(piece);
  }
  for (Handle node : found->second.nodes) {
    allocations_.erase(node);
    frees_.erase(node);
  }
  graphs_.erase(found);
  return unused;
}

}  // namespace mneme::memory
