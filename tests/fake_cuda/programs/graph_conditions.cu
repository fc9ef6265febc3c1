// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A graph with a loop in which a kernel chooses what is added, launched again and again.
#include <cstring>

#include "cuda.h"
#include "graphs.h"

extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned value);

__global__ void choose(int* data, unsigned long long which) { cudaGraphSetConditional(which, (data[0] + 1) % 2); }
__global__ void add(int* to, int value) { to[1] += value; }
__global__ void next(int* data, unsigned long long again, int end) { cudaGraphSetConditional(again, ++data[0] < end); }

cudaGraphNode_t add_kernel(cudaGraph_t graph, void* kernel, void** arguments, const cudaGraphNode_t* after, size_t count) {
  KernelNode parameters{kernel, 1, 1, 0, arguments, nullptr};
  cudaGraphNode_t node;
  CHECK(cudaGraphAddKernelNode(&node, graph, after, count, &parameters) == 0);
  return node;
}

ConditionNode add_condition(cudaGraph_t graph, unsigned long long handle, int kind, unsigned size,
                            cudaGraphNode_t* node, const cudaGraphNode_t* after, size_t count) {
  ConditionNode parameters;
  std::memset(&parameters, 0, sizeof parameters);
  parameters.type = 13;
  parameters.handle = handle;
  parameters.kind = kind;
  parameters.size = size;
  CHECK(cudaGraphAddNode(node, graph, after, nullptr, count, &parameters) == 0);
  CHECK(parameters.handle == handle);
  return parameters;
}

int main() {
  int* data = nullptr;
  int end = 6, one = 1, hundred = 100;
  unsigned long long again, which;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaGraphNode_t looping, choosing, deciding;
  CHECK(cudaMalloc(reinterpret_cast<void**>(&data), 2 * sizeof(int)) == 0);
  CHECK(cudaGraphCreate(&graph, 0) == 0);
  CHECK(cudaGraphConditionalHandleCreate(&again, graph, 1, 1) == 0);
  cudaGraph_t body = add_condition(graph, again, 1, 1, &looping, nullptr, 0).graphs[0];
  CHECK(cudaGraphConditionalHandleCreate(&which, body, 0, 0) == 0);
  void *chosen[] = {&data, &which}, *counted[] = {&data, &again, &end}, *ones[] = {&data, &one};
  void* hundreds[] = {&data, &hundred};
  choosing = add_kernel(body, reinterpret_cast<void*>(choose), chosen, nullptr, 0);
  cudaGraph_t* ways = add_condition(body, which, 0, 2, &deciding, &choosing, 1).graphs;
  add_kernel(ways[0], reinterpret_cast<void*>(add), ones, nullptr, 0);
  add_kernel(ways[1], reinterpret_cast<void*>(add), hundreds, nullptr, 0);
  add_kernel(body, reinterpret_cast<void*>(next), counted, &deciding, 1);
  CHECK(cudaGraphInstantiate(&ready, graph, 0) == 0);
  CHECK(cudaGraphDestroy(graph) == 0);
  for (int time = 1; time < 4; ++time) {
    int host[2] = {};
    CHECK(cudaMemset(data, 0, sizeof host) == 0);
    CHECK(cudaGraphLaunch(ready, nullptr) == 0 && cudaDeviceSynchronize() == 0);
    CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost) == 0);
    CHECK(host[0] == 6 && host[1] == 303);
  }
  CHECK(cudaGraphExecDestroy(ready) == 0 && cudaFree(data) == 0);
  std::puts("graph_conditions: ok");
}
