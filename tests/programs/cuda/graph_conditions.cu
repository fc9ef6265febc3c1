// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs with nodes whose kernels decide what runs: a loop until a series of Newton's steps has converged, a choice of
// one of two, a choice of several within a loop, and a condition that nobody resets.

#include <cmath>
#include <vector>

#include "../check.h"

constexpr int kCount = 300;

// One step towards the square root of each; the loop goes on while one of the block's has moved.
__global__ void newton(float* guess, const float* of, int* steps, cudaGraphConditionalHandle again) {
  __shared__ int moved;
  if (threadIdx.x == 0) moved = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < kCount; i += blockDim.x) {
    float next = 0.5f * (guess[i] + of[i] / guess[i]);
    if (fabsf(next - guess[i]) > 1e-5f * next) atomicAdd(&moved, 1);
    guess[i] = next;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    ++*steps;
    cudaGraphSetConditional(again, moved != 0);
  }
}

__global__ void choose(int* data, cudaGraphConditionalHandle which, int modulus) {
  cudaGraphSetConditional(which, static_cast<unsigned>(*data % modulus));
}
__global__ void next(int* data, cudaGraphConditionalHandle again, int end) {
  ++*data;
  cudaGraphSetConditional(again, *data < end);
}
__global__ void add(int* to, int value) { *to += value; }

cudaGraphNode_t add_kernel(cudaGraph_t graph, void* kernel, dim3 block, void** arguments, cudaGraphNode_t after = {}) {
  cudaKernelNodeParams parameters = {};
  parameters.func = kernel;
  parameters.gridDim = dim3(1);
  parameters.blockDim = block;
  parameters.kernelParams = arguments;
  cudaGraphNode_t node;
  check(cudaGraphAddKernelNode(&node, graph, after ? &after : nullptr, after ? 1 : 0, &parameters));
  return node;
}

cudaGraph_t* add_condition(cudaGraph_t graph, cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type,
                           unsigned size, cudaGraphNode_t after = {}, cudaGraphNode_t* made = nullptr) {
  cudaGraphNodeParams parameters = {};
  parameters.type = cudaGraphNodeTypeConditional;
  parameters.conditional.handle = handle;
  parameters.conditional.type = type;
  parameters.conditional.size = size;
  cudaGraphNode_t node;
#if CUDART_VERSION >= 13000
  check(cudaGraphAddNode(&node, graph, after ? &after : nullptr, nullptr, after ? 1 : 0, &parameters));
#else
  check(cudaGraphAddNode(&node, graph, after ? &after : nullptr, after ? 1 : 0, &parameters));
#endif
  cudaGraphNodeType is;
  check(cudaGraphNodeGetType(node, &is));
  if (is != cudaGraphNodeTypeConditional) std::puts("not a conditional node");
  if (made) *made = node;
  return parameters.conditional.phGraph_out;
}

void loop(Test& test) {
  std::vector<float> values(kCount), ones(kCount, 1.0f), want(kCount);
  for (int i = 0; i < kCount; ++i) values[i] = 1.0f + 10.0f * i;
  float *of = to_device(values), *guess = to_device(ones);
  int* steps = to_device(std::vector<int>{0});
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaGraphConditionalHandle again;
  check(cudaGraphCreate(&graph, 0));
  check(cudaGraphConditionalHandleCreate(&again, graph, 1, cudaGraphCondAssignDefault));
  cudaGraph_t body = *add_condition(graph, again, cudaGraphCondTypeWhile, 1);
  void* arguments[] = {&guess, &of, &steps, &again};
  add_kernel(body, reinterpret_cast<void*>(newton), dim3(128), arguments);
  check(cudaGraphInstantiate(&ready, graph, 0));
  for (int time = 0; time < 2; ++time) {
    check(cudaMemcpy(guess, ones.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
    check(cudaGraphLaunch(ready, nullptr));
    check(cudaDeviceSynchronize());
    std::vector<float> got = to_host(guess, kCount);
    int far = 0;
    for (int i = 0; i < kCount; ++i) far += std::fabs(got[i] - std::sqrt(values[i])) > 1e-4f * got[i];
    test.equal("square roots", far, 0);
  }
  int taken = to_host(steps, 1)[0];
  test.equal("steps, the same number each time", taken > 10 && taken % 2 == 0, true);
  check(cudaGraphExecDestroy(ready));
  check(cudaGraphDestroy(graph));
  check(cudaFree(of));
  check(cudaFree(guess));
  check(cudaFree(steps));
}

// data counts to 9; at each step 100, 1000 or 10000 is added to the sum, as data modulo 3 says.
void choices(Test& test) {
  int *data = to_device(std::vector<int>{0}), *sum = to_device(std::vector<int>{0});
  int end = 9, modulus = 3;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaGraphConditionalHandle again, which;
  check(cudaGraphCreate(&graph, 0));
  check(cudaGraphConditionalHandleCreate(&again, graph, 1, cudaGraphCondAssignDefault));
  check(cudaGraphConditionalHandleCreate(&which, graph, 7, cudaGraphCondAssignDefault));
  cudaGraph_t body = *add_condition(graph, again, cudaGraphCondTypeWhile, 1);
  void *chosen[] = {&data, &which, &modulus}, *counted[] = {&data, &again, &end};
  cudaGraphNode_t last = add_kernel(body, reinterpret_cast<void*>(choose), dim3(1), chosen);
  cudaGraph_t* cases = add_condition(body, which, cudaGraphCondTypeSwitch, 3, last, &last);
  int value = 100;
  for (int i = 0; i < 3; ++i, value *= 10) {
    void* added[] = {&sum, &value};
    add_kernel(cases[i], reinterpret_cast<void*>(add), dim3(1), added);
  }
  add_kernel(body, reinterpret_cast<void*>(next), dim3(1), counted, last);
  check(cudaGraphInstantiate(&ready, graph, 0));
  check(cudaGraphLaunch(ready, nullptr));
  check(cudaDeviceSynchronize());
  test.equal("counted", to_host(data, 1)[0], 9);
  test.equal("added", to_host(sum, 1)[0], 33300);
  check(cudaGraphExecDestroy(ready));
  check(cudaGraphDestroy(graph));
  check(cudaFree(data));
  check(cudaFree(sum));
}

// If data is odd, else; the condition keeps its value where no kernel sets it.
void branch(Test& test) {
  int *data = to_device(std::vector<int>{0}), *sum = to_device(std::vector<int>{0});
  int modulus = 2, one = 1, ten = 10;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaGraphConditionalHandle odd;
  check(cudaGraphCreate(&graph, 0));
  check(cudaGraphConditionalHandleCreate(&odd, graph, 0, 0));
  void *chosen[] = {&data, &odd, &modulus}, *ones[] = {&sum, &one}, *tens[] = {&sum, &ten}, *stepped[] = {&data, &one};
  cudaGraphNode_t last = add_kernel(graph, reinterpret_cast<void*>(choose), dim3(1), chosen);
  cudaGraph_t* ways = add_condition(graph, odd, cudaGraphCondTypeIf, 2, last, &last);
  add_kernel(ways[0], reinterpret_cast<void*>(add), dim3(1), ones);
  add_kernel(ways[1], reinterpret_cast<void*>(add), dim3(1), tens);
  add_kernel(graph, reinterpret_cast<void*>(add), dim3(1), stepped, last);
  check(cudaGraphInstantiate(&ready, graph, 0));
  for (int time = 0; time < 5; ++time) check(cudaGraphLaunch(ready, nullptr));
  check(cudaDeviceSynchronize());
  test.equal("steps", to_host(data, 1)[0], 5);
  test.equal("two odd, three even", to_host(sum, 1)[0], 32);
  check(cudaGraphExecDestroy(ready));
  check(cudaGraphDestroy(graph));
  check(cudaFree(data));
  check(cudaFree(sum));
}

int main() {
  Test test("graph_conditions");
  loop(test);
  choices(test);
  branch(test);
  return test.finish();
}
