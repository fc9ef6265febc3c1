// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs: one noted down from a stream, one put together, with a child and nodes that are changed once it is ready.
#include <vector>

#include "cuda.h"
#include "graphs.h"

constexpr unsigned kCount = 600;
constexpr size_t kBytes = kCount * sizeof(int);

__global__ void add(int* data, int value) {
  if (index() < kCount) data[index()] += value;
}
__global__ void twice(int* data) {
  if (index() < kCount) data[index()] *= 2;
}

std::vector<int> contents(int* data) {
  std::vector<int> host(kCount);
  CHECK(cudaMemcpy(host.data(), data, kBytes, cudaMemcpyDeviceToHost) == 0);
  return host;
}

// fill, copy, twice, add 3; launched twice.
void captured(int* data, int* from) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  CHECK(cudaStreamCreate(&stream) == 0 && cudaStreamBeginCapture(stream, 0) == 0);
  CHECK(cudaMemsetAsync(from, 1, kBytes, stream) == 0);
  CHECK(cudaMemcpyAsync(data, from, kBytes, cudaMemcpyDeviceToDevice, stream) == 0);
  twice<<<5, 128, 0, stream>>>(data);
  add<<<5, 128, 0, stream>>>(data, 3);
  CHECK(cudaStreamEndCapture(stream, &graph) == 0 && cudaGraphInstantiateWithFlags(&ready, graph, 0) == 0);
  CHECK(cudaGraphDestroy(graph) == 0);
  for (int round = 0; round < 2; ++round) {
    CHECK(cudaMemset(data, 0, kBytes) == 0);
    CHECK(cudaGraphLaunch(ready, stream) == 0 && cudaStreamSynchronize(stream) == 0);
    for (int value : contents(data)) CHECK(value == 0x02020202 + 3);
  }
  CHECK(cudaGraphExecDestroy(ready) == 0 && cudaStreamDestroy(stream) == 0);
}

void count_calls(void* calls) { ++*static_cast<int*>(calls); }

// A host function, then in a child: add 5, later 50; then twice.
void built(int* data) {
  cudaGraph_t graph, child;
  cudaGraphNode_t first, middle, added, last;
  cudaGraphExec_t ready;
  int value = 5, calls = 0;
  void *of_add[] = {&data, &value}, *of_twice[] = {&data};
  KernelNode adding{reinterpret_cast<void*>(add), 5, 128, 0, of_add, nullptr};
  KernelNode doubling{reinterpret_cast<void*>(twice), 5, 128, 0, of_twice, nullptr};
  HostNode counting{count_calls, &calls};
  CHECK(cudaGraphCreate(&graph, 0) == 0 && cudaGraphCreate(&child, 0) == 0);
  CHECK(cudaGraphAddKernelNode(&middle, child, nullptr, 0, &doubling) == 0);
  CHECK(cudaGraphAddHostNode(&first, graph, nullptr, 0, &counting) == 0);
  CHECK(cudaGraphAddKernelNode(&added, graph, &first, 1, &adding) == 0);
  CHECK(cudaGraphAddChildGraphNode(&last, graph, &added, 1, child) == 0);
  CHECK(cudaGraphInstantiate(&ready, graph, 0) == 0);
  CHECK(cudaMemset(data, 0, kBytes) == 0);
  CHECK(cudaGraphLaunch(ready, nullptr) == 0 && cudaDeviceSynchronize() == 0);
  for (int sum : contents(data)) CHECK(sum == 10);
  value = 50;
  CHECK(cudaGraphExecKernelNodeSetParams(ready, added, &adding) == 0);
  value = 7;  // nobody's any more
  CHECK(cudaGraphLaunch(ready, nullptr) == 0 && cudaDeviceSynchronize() == 0);
  for (int sum : contents(data)) CHECK(sum == 120);
  CHECK(calls == 2);
  // Of this the recorder loses track.
  int others = 0;
  counting.data = &others;
  CHECK(cudaGraphExecHostNodeSetParams(ready, first, &counting) == 0);
  CHECK(cudaGraphLaunch(ready, nullptr) == 0 && cudaDeviceSynchronize() == 0);
  for (int sum : contents(data)) CHECK(sum == 340);
  CHECK(calls == 2 && others == 1);
  CHECK(cudaGraphExecDestroy(ready) == 0 && cudaGraphDestroy(graph) == 0 && cudaGraphDestroy(child) == 0);
}

int main() {
  void *data = nullptr, *from = nullptr;
  CHECK(cudaMalloc(&data, kBytes) == 0 && cudaMalloc(&from, kBytes) == 0);
  captured(static_cast<int*>(data), static_cast<int*>(from));
  built(static_cast<int*>(data));
  CHECK(cudaFree(data) == 0 && cudaFree(from) == 0);
  std::puts("graphs: ok");
}
