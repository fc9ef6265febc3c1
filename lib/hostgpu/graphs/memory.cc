// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/graphs/memory.h"

#include <mutex>
#include <utility>
#include <vector>

#include "hostgpu/errors.h"
#include "hostgpu/extensions.h"

namespace mneme::hostgpu {
namespace {

using vendor::cuda::AllocationNode;

struct Dropped {
  std::mutex mutex;
  std::vector<void*> memory;
};
Dropped& dropped() {
  static auto* all = new Dropped;
  return *all;
}

}  // namespace

memory::GraphMemory<AllocationNode>& graph_memory() {
  static auto* only = new memory::GraphMemory<AllocationNode>;
  return *only;
}

void drop_memory_of(const ihipGraph* graph) {
  std::vector<void*> unused = graph_memory().remove(graph);
  std::lock_guard lock(dropped().mutex);
  dropped().memory.insert(dropped().memory.end(), unused.begin(), unused.end());
}

void release_dropped() {
  std::vector<void*> unused;
  {
    std::lock_guard lock(dropped().mutex);
    std::swap(unused, dropped().memory);
  }
  for (void* memory : unused) (void)hipFree(memory);
}

}  // namespace mneme::hostgpu

using namespace mneme::hostgpu;

#pragma GCC visibility push(default)
extern "C" {

int mneme_hostgpu_add_allocation(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before, size_t count,
                                 AllocationNode* parameters) {
  constexpr int kDevice = 1;
  if (!parameters || parameters->location_type != kDevice || !parameters->size) return note_error(hipErrorInvalidValue);
  hipError_t status = hipMalloc(&parameters->pointer, parameters->size);
  if (status != hipSuccess) return status;
  status = hipGraphAddEmptyNode(node, graph, before, count);
  if (status == hipSuccess) {
    graph_memory().add_allocation(graph, *node, *parameters);
  } else {
    (void)hipFree(parameters->pointer);
  }
  return status;
}

int mneme_hostgpu_add_free(hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* before, size_t count,
                           void* memory) {
  const hipError_t status = hipGraphAddEmptyNode(node, graph, before, count);
  if (status != hipSuccess || graph_memory().add_free(graph, *node, memory)) return status;
  (void)hipGraphDestroyNode(*node);
  return note_error(hipErrorInvalidValue);
}

int mneme_hostgpu_memory_node(hipGraphNode_t node, AllocationNode* allocation, void** freed) {
  const auto added = graph_memory().allocation(node);
  const auto released = graph_memory().freed(node);
  if (added && allocation) *allocation = *added;
  if (released && freed) *freed = *released;
  return added ? mneme::vendor::cuda::kAllocationNode : released ? mneme::vendor::cuda::kFreeNode : 0;
}

int mneme_hostgpu_give_back(void* memory) { return graph_memory().give_back(memory) ? 1 : 0; }

}  // extern "C"
#pragma GCC visibility pop
