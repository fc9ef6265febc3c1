// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs that allocate memory: by nodes, by calls that a stream captures, freed by a node of the same graph, of another
// one, or by the application after a launch; and nodes that cudaGraphAddNode adds.

#include <vector>

#include "../check.h"

constexpr unsigned kCount = 1000;
constexpr size_t kBytes = kCount * sizeof(unsigned);

__global__ void square_into(unsigned* to, const unsigned* from) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) to[i] = from[i] * from[i];
}
__global__ void add_into(unsigned* to, const unsigned* from, unsigned more) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) to[i] += from[i] + more;
}

void fill(unsigned* data, unsigned first) {
  std::vector<unsigned> host(kCount);
  for (unsigned i = 0; i < kCount; ++i) host[i] = first + i;
  check(cudaMemcpy(data, host.data(), kBytes, cudaMemcpyHostToDevice));
}

void expect(Test& test, const char* what, unsigned* data, unsigned first, unsigned more) {
  std::vector<unsigned> host(kCount);
  check(cudaMemcpy(host.data(), data, kBytes, cudaMemcpyDeviceToHost));
  unsigned wrong = 0;
  for (unsigned i = 0; i < kCount; ++i) wrong += host[i] != first + i + (first + i) * (first + i) + more;
  test.equal(what, wrong, 0u);
}

cudaGraphNode_t add_kernel(cudaGraph_t graph, void* kernel, void** arguments, cudaGraphNode_t after) {
  cudaKernelNodeParams parameters = {};
  parameters.func = kernel;
  parameters.gridDim = dim3(4);
  parameters.blockDim = dim3(256);
  parameters.kernelParams = arguments;
  cudaGraphNode_t node;
  check(cudaGraphAddKernelNode(&node, graph, &after, 1, &parameters));
  return node;
}

cudaMemAllocNodeParams allocation_of(size_t bytes) {
  cudaMemAllocNodeParams parameters = {};
  parameters.poolProps.allocType = cudaMemAllocationTypePinned;
  parameters.poolProps.location.type = cudaMemLocationTypeDevice;
  parameters.bytesize = bytes;
  return parameters;
}

// data += data² + 7 by memory of the graph's own, which it frees.
void by_nodes(Test& test, unsigned* data) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaGraphNode_t allocating, freeing;
  check(cudaGraphCreate(&graph, 0));
  cudaMemAllocNodeParams parameters = allocation_of(kBytes);
  check(cudaGraphAddMemAllocNode(&allocating, graph, nullptr, 0, &parameters));
  void* own = parameters.dptr;
  unsigned more = 7;
  void *squared[] = {&own, &data}, *added[] = {&data, &own, &more};
  cudaGraphNode_t last = add_kernel(graph, reinterpret_cast<void*>(square_into), squared, allocating);
  last = add_kernel(graph, reinterpret_cast<void*>(add_into), added, last);
  check(cudaGraphAddMemFreeNode(&freeing, graph, &last, 1, own));

  cudaGraphNodeType type;
  check(cudaGraphNodeGetType(allocating, &type));
  test.equal("a node that allocates", int(type), int(cudaGraphNodeTypeMemAlloc));
  check(cudaGraphNodeGetType(freeing, &type));
  test.equal("a node that frees", int(type), int(cudaGraphNodeTypeMemFree));
  cudaMemAllocNodeParams asked = {};
  void* freed = nullptr;
  check(cudaGraphMemAllocNodeGetParams(allocating, &asked));
  check(cudaGraphMemFreeNodeGetParams(freeing, &freed));
  test.equal("its size", asked.bytesize, kBytes);
  test.equal("what it allocates is freed", asked.dptr == own && freed == own, true);

  check(cudaGraphInstantiate(&ready, graph, 0));
  check(cudaGraphDestroy(graph));
  for (unsigned time = 0; time < 3; ++time) {
    fill(data, 10 * time);
    check(cudaGraphLaunch(ready, nullptr));
    expect(test, "by nodes", data, 10 * time, 7);
  }
  check(cudaGraphExecDestroy(ready));
}

// Memory that a launch leaves behind: freed by the application, and by another graph.
void left_behind(Test& test, unsigned* data) {
  cudaGraph_t graph, other;
  cudaGraphExec_t ready, frees;
  cudaGraphNode_t allocating, freeing;
  check(cudaGraphCreate(&graph, 0));
  check(cudaGraphCreate(&other, 0));
  cudaMemAllocNodeParams parameters = allocation_of(kBytes);
  check(cudaGraphAddMemAllocNode(&allocating, graph, nullptr, 0, &parameters));
  void* left = parameters.dptr;
  void* squared[] = {&left, &data};
  add_kernel(graph, reinterpret_cast<void*>(square_into), squared, allocating);
  check(cudaGraphAddMemFreeNode(&freeing, other, nullptr, 0, left));
  check(cudaGraphInstantiate(&ready, graph, 0));
  check(cudaGraphInstantiate(&frees, other, 0));
  for (unsigned time = 0; time < 3; ++time) {
    fill(data, time);
    check(cudaGraphLaunch(ready, nullptr));
    add_into<<<4, 256>>>(data, static_cast<unsigned*>(left), 1);
    expect(test, "left behind", data, time, 1);
    if (time == 1) {
      check(cudaGraphLaunch(frees, nullptr));
    } else {
      check(cudaFreeAsync(left, nullptr));
    }
  }
  check(cudaStreamSynchronize(nullptr));
  check(cudaGraphExecDestroy(frees));
  check(cudaGraphExecDestroy(ready));
  check(cudaGraphDestroy(other));
  check(cudaGraphDestroy(graph));
}

void captured(Test& test, unsigned* data) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  unsigned* own = nullptr;
  check(cudaStreamCreate(&stream));
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  check(cudaMallocAsync(reinterpret_cast<void**>(&own), kBytes, stream));
  square_into<<<4, 256, 0, stream>>>(own, data);
  add_into<<<4, 256, 0, stream>>>(data, own, 3);
  check(cudaFreeAsync(own, stream));
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&ready, graph, 0));
  fill(data, 5);
  check(cudaGraphLaunch(ready, stream));
  check(cudaStreamSynchronize(stream));
  expect(test, "captured", data, 5, 3);
  fill(data, 6);
  check(cudaGraphLaunch(ready, stream));
  check(cudaStreamSynchronize(stream));
  expect(test, "captured, again", data, 6, 3);
  check(cudaGraphExecDestroy(ready));
  check(cudaGraphDestroy(graph));
  check(cudaStreamDestroy(stream));
}

// Nodes of several kinds by one function; edges have data from CUDA 13 on.
cudaGraphNode_t add(cudaGraph_t graph, cudaGraphNode_t after, cudaGraphNodeParams& parameters) {
  cudaGraphNode_t node;
#if CUDART_VERSION >= 13000
  check(cudaGraphAddNode(&node, graph, after ? &after : nullptr, nullptr, after ? 1 : 0, &parameters));
#else
  check(cudaGraphAddNode(&node, graph, after ? &after : nullptr, after ? 1 : 0, &parameters));
#endif
  return node;
}

void by_any_nodes(Test& test, unsigned* data) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  check(cudaGraphCreate(&graph, 0));
  cudaGraphNodeParams allocation = {}, kernel = {}, freeing = {};
  allocation.type = cudaGraphNodeTypeMemAlloc;
  allocation.alloc.poolProps.allocType = cudaMemAllocationTypePinned;
  allocation.alloc.poolProps.location.type = cudaMemLocationTypeDevice;
  allocation.alloc.bytesize = kBytes;
  cudaGraphNode_t last = add(graph, nullptr, allocation);
  void* own = allocation.alloc.dptr;
  unsigned more = 2;
  void *squared[] = {&own, &data}, *added[] = {&data, &own, &more};
  kernel.type = cudaGraphNodeTypeKernel;
  kernel.kernel.func = reinterpret_cast<void*>(square_into);
  kernel.kernel.gridDim = dim3(4);
  kernel.kernel.blockDim = dim3(256);
  kernel.kernel.kernelParams = squared;
  last = add(graph, last, kernel);
  kernel.kernel.func = reinterpret_cast<void*>(add_into);
  kernel.kernel.kernelParams = added;
  last = add(graph, last, kernel);
  freeing.type = cudaGraphNodeTypeMemFree;
  freeing.free.dptr = own;
  add(graph, last, freeing);
  check(cudaGraphInstantiate(&ready, graph, 0));
  fill(data, 9);
  check(cudaGraphLaunch(ready, nullptr));
  expect(test, "by nodes of any kind", data, 9, 2);
  check(cudaGraphExecDestroy(ready));
  check(cudaGraphDestroy(graph));
}

int main() {
  Test test("graph_memory");
  unsigned* data = nullptr;
  check(cudaMalloc(reinterpret_cast<void**>(&data), kBytes));
  by_nodes(test, data);
  left_behind(test, data);
  captured(test, data);
  by_any_nodes(test, data);
  check(cudaFree(data));
  return test.finish();
}
