// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs with nodes of other kinds: ones that record events and wait for them, and ones that allocate memory.
#include <cstring>
#include <vector>

#include "cuda.h"
#include "graphs.h"

constexpr unsigned kCount = 600;
constexpr size_t kBytes = kCount * sizeof(int);

__global__ void add(int* data, int value) {
  if (index() < kCount) data[index()] += value;
}
__global__ void next(int* to, const int* from) {
  if (index() < kCount) to[index()] = from[index()] + 1;
}

std::vector<int> contents(int* data) {
  std::vector<int> host(kCount);
  CHECK(cudaMemcpy(host.data(), data, kBytes, cudaMemcpyDeviceToHost) == 0);
  return host;
}

// Waits for one event, adds 3, and records another, for which a stream waits. Launched twice, the second time with a
// third event to record.
void events(int* data) {
  cudaGraph_t graph;
  cudaGraphNode_t waiting, adding, recording;
  cudaGraphExec_t ready;
  cudaEvent_t before, after, later;
  cudaStream_t stream, other;
  CHECK(cudaEventCreate(&before) == 0 && cudaEventCreate(&after) == 0 && cudaEventCreate(&later) == 0);
  CHECK(cudaStreamCreate(&stream) == 0 && cudaStreamCreate(&other) == 0);
  int value = 3;
  void* list[] = {&data, &value};
  KernelNode kernel{reinterpret_cast<void*>(add), 5, 128, 0, list, nullptr};
  CHECK(cudaGraphCreate(&graph, 0) == 0);
  CHECK(cudaGraphAddEventWaitNode(&waiting, graph, nullptr, 0, before) == 0);
  CHECK(cudaGraphAddKernelNode(&adding, graph, &waiting, 1, &kernel) == 0);
  CHECK(cudaGraphAddEventRecordNode(&recording, graph, &adding, 1, after) == 0);
  CHECK(cudaGraphInstantiate(&ready, graph, 0) == 0);
  CHECK(cudaMemsetAsync(data, 1, kBytes, other) == 0 && cudaEventRecord(before, other) == 0);
  CHECK(cudaGraphLaunch(ready, stream) == 0);
  CHECK(cudaEventSynchronize(after) == 0);
  for (int number : contents(data)) CHECK(number == 0x01010101 + 3);
  CHECK(cudaGraphExecEventRecordNodeSetEvent(ready, recording, later) == 0);
  CHECK(cudaGraphLaunch(ready, stream) == 0);
  CHECK(cudaEventSynchronize(later) == 0);
  for (int number : contents(data)) CHECK(number == 0x01010101 + 6);
  CHECK(cudaGraphExecDestroy(ready) == 0 && cudaGraphDestroy(graph) == 0);
  CHECK(cudaStreamDestroy(stream) == 0 && cudaStreamDestroy(other) == 0);
}

// Copies through memory that the graph allocates and frees, or that the application frees after each launch.
void allocations(int* data, bool frees) {
  cudaGraph_t graph;
  cudaGraphNode_t allocating, copying, back, freeing;
  cudaGraphExec_t ready;
  AllocationNode allocation, asked;
  std::memset(&allocation, 0, sizeof allocation);
  allocation.type = allocation.location = 1;  // pinned memory, of a device: the first
  allocation.size = kBytes;
  CHECK(cudaMemset(data, 2, kBytes) == 0);
  CHECK(cudaGraphCreate(&graph, 0) == 0);
  CHECK(cudaGraphAddMemAllocNode(&allocating, graph, nullptr, 0, &allocation) == 0);
  int type = -1;
  CHECK(cudaGraphNodeGetType(allocating, &type) == 0 && type == 10);
  CHECK(cudaGraphMemAllocNodeGetParams(allocating, &asked) == 0);
  CHECK(asked.pointer == allocation.pointer && asked.size == kBytes);
  void *there[] = {&allocation.pointer, &data}, *here[] = {&data, &allocation.pointer};
  KernelNode away{reinterpret_cast<void*>(next), 5, 128, 0, there, nullptr};
  KernelNode home{reinterpret_cast<void*>(next), 5, 128, 0, here, nullptr};
  CHECK(cudaGraphAddKernelNode(&copying, graph, &allocating, 1, &away) == 0);
  CHECK(cudaGraphAddKernelNode(&back, graph, &copying, 1, &home) == 0);
  if (frees) {
    void* freed = nullptr;
    CHECK(cudaGraphAddMemFreeNode(&freeing, graph, &back, 1, allocation.pointer) == 0);
    CHECK(cudaGraphNodeGetType(freeing, &type) == 0 && type == 11);
    CHECK(cudaGraphMemFreeNodeGetParams(freeing, &freed) == 0 && freed == allocation.pointer);
  }
  CHECK(cudaGraphInstantiate(&ready, graph, 0) == 0);
  for (int time = 0; time < 3; ++time) {
    CHECK(cudaMemset(data, 2 + time, kBytes) == 0);
    CHECK(cudaGraphLaunch(ready, nullptr) == 0 && cudaDeviceSynchronize() == 0);
    for (int number : contents(data)) CHECK(number == 0x01010101 * (2 + time) + 2);
    if (frees) continue;
    for (int number : contents(static_cast<int*>(allocation.pointer))) CHECK(number == 0x01010101 * (2 + time) + 1);
    if (time < 2) CHECK(cudaFree(allocation.pointer) == 0);
  }
  CHECK(cudaGraphExecDestroy(ready) == 0 && cudaGraphDestroy(graph) == 0);
  if (frees) return;
  for (int number : contents(static_cast<int*>(allocation.pointer))) CHECK(number == 0x04040404 + 1);
  CHECK(cudaFree(allocation.pointer) == 0);
}

// The same, in a graph that is captured from a stream.
void captured(int* data) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaStream_t stream;
  int* memory = nullptr;
  CHECK(cudaStreamCreate(&stream) == 0);
  CHECK(cudaStreamBeginCapture(stream, 2) == 0);
  CHECK(cudaMallocAsync(reinterpret_cast<void**>(&memory), kBytes, stream) == 0);
  next<<<5, 128, 0, stream>>>(memory, data);
  add<<<5, 128, 0, stream>>>(memory, 5);
  next<<<5, 128, 0, stream>>>(data, memory);
  CHECK(cudaFreeAsync(memory, stream) == 0);
  CHECK(cudaStreamEndCapture(stream, &graph) == 0);
  CHECK(cudaGraphInstantiate(&ready, graph, 0) == 0);
  CHECK(cudaMemset(data, 1, kBytes) == 0);
  CHECK(cudaGraphLaunch(ready, stream) == 0 && cudaGraphLaunch(ready, stream) == 0);
  CHECK(cudaStreamSynchronize(stream) == 0);
  for (int number : contents(data)) CHECK(number == 0x01010101 + 14);
  CHECK(cudaGraphExecDestroy(ready) == 0 && cudaGraphDestroy(graph) == 0 && cudaStreamDestroy(stream) == 0);
}

int main() {
  void* data = nullptr;
  CHECK(cudaMalloc(&data, kBytes) == 0);
  events(static_cast<int*>(data));
  allocations(static_cast<int*>(data), true);
  allocations(static_cast<int*>(data), false);
  captured(static_cast<int*>(data));
  CHECK(cudaFree(data) == 0);
  std::puts("graph_nodes: ok");
}
