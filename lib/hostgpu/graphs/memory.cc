// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/graphs/memory.h"

#include <mutex>
#include <utility>
#include <vector>

#include "hostgpu/device/info.h"
#include "hostgpu/errors.h"
#include "hostgpu/extensions.h"
#include "hostgpu/graphs/capture.h"

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

// Null: the stream is not captured.
hipGraph_t captured_graph(hipStream_t stream) {
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  hipGraph_t graph = nullptr;
  const hipError_t asked = hipStreamGetCaptureInfo_v2(stream, &status, nullptr, &graph, nullptr, nullptr);
  return asked == hipSuccess && status == hipStreamCaptureStatusActive ? graph : nullptr;
}

}  // namespace

memory::GraphMemory<AllocationNode>& graph_memory() {
  static auto* only = new memory::GraphMemory<AllocationNode>;
  return *only;
}

void drop(const std::vector<void*>& memory) {
  std::lock_guard lock(dropped().mutex);
  dropped().memory.insert(dropped().memory.end(), memory.begin(), memory.end());
}

void release_dropped() {
  std::vector<void*> unused;
  {
    std::lock_guard lock(dropped().mutex);
    std::swap(unused, dropped().memory);
  }
  AllowUnsafeCalls allowed;
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
  AllowUnsafeCalls allowed;
  OnDevice its(parameters->device);
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

int mneme_hostgpu_note_allocation(void* memory, size_t size, hipStream_t stream) {
  hipGraph_t graph = captured_graph(stream);
  if (!graph) return 0;
  AllocationNode allocation{};
  allocation.pointer = memory;
  allocation.size = size;
  graph_memory().add_allocation(graph, nullptr, allocation);
  return 1;
}

int mneme_hostgpu_give_back(void* memory) { return graph_memory().give_back(memory) ? 1 : 0; }

int mneme_hostgpu_give_back_in(void* memory, hipStream_t stream) {
  hipGraph_t graph = captured_graph(stream);
  return (graph ? graph_memory().add_free(graph, nullptr, memory) : graph_memory().give_back(memory)) ? 1 : 0;
}

}  // extern "C"
#pragma GCC visibility pop
