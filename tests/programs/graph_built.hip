// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph built node by node: a fill, copies of rows and to and from a variable, kernels, a host function, a graph in
// the graph; launched, changed, and launched again.
#include "check.h"

__device__ int offsets[4];

__global__ void accumulate(int* data, int n, int factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * factor + offsets[i % 4];
}

int main() {
  Test test("graph_built");
  constexpr int kCount = 1024;
  std::vector<int> input(kCount), output(kCount), seen(4);
  for (int i = 0; i < kCount; ++i) input[i] = 3 * i;
  int set[4] = {10, 20, 30, 40};
  int* data = device_array<int>(kCount);
  int calls = 0;

  hipGraph_t graph, inner;
  check(hipGraphCreate(&graph, 0));
  check(hipGraphCreate(&inner, 0));
  hipGraphNode_t fill, variable, copy, kernel, child, inside, back, symbol, host;
  hipMemsetParams zero{};
  zero.dst = data;
  zero.elementSize = 4;
  zero.width = kCount;
  zero.height = 1;
  check(hipGraphAddMemsetNode(&fill, graph, nullptr, 0, &zero));
  check(hipGraphAddMemcpyNodeToSymbol(&variable, graph, nullptr, 0, HIP_SYMBOL(offsets), set, sizeof set, 0,
                                      hipMemcpyHostToDevice));
  // The first half, as 16 rows of 32.
  hipMemcpy3DParms rows{};
  rows.srcPtr = make_hipPitchedPtr(input.data(), 32 * sizeof(int), 32, 16);
  rows.dstPtr = make_hipPitchedPtr(data, 32 * sizeof(int), 32, 16);
  rows.extent = make_hipExtent(32 * sizeof(int), 16, 1);
  rows.kind = hipMemcpyHostToDevice;
  check(hipGraphAddMemcpyNode(&copy, graph, &fill, 1, &rows));
  int count = kCount, factor = 2;
  void* arguments[] = {&data, &count, &factor};
  hipKernelNodeParams launch{};
  launch.func = reinterpret_cast<void*>(accumulate);
  launch.gridDim = dim3(kCount / 128);
  launch.blockDim = dim3(128);
  launch.kernelParams = arguments;
  hipGraphNode_t both[] = {copy, variable};
  check(hipGraphAddKernelNode(&kernel, graph, both, 2, &launch));
  factor = 5;
  check(hipGraphAddKernelNode(&inside, inner, nullptr, 0, &launch));
  check(hipGraphAddChildGraphNode(&child, graph, &kernel, 1, inner));
  factor = -1;  // the nodes have what it was
  check(hipGraphAddMemcpyNode1D(&back, graph, &child, 1, output.data(), data, kCount * sizeof(int),
                                hipMemcpyDeviceToHost));
  check(hipGraphAddMemcpyNodeFromSymbol(&symbol, graph, &variable, 1, seen.data(), HIP_SYMBOL(offsets), sizeof set, 0,
                                        hipMemcpyDeviceToHost));
  hipHostNodeParams function{[](void* calls) { ++*static_cast<int*>(calls); }, &calls};
  check(hipGraphAddHostNode(&host, graph, &back, 1, &function));

  hipGraphExec_t exec;
  check(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  hipStream_t stream;
  check(hipStreamCreate(&stream));
  auto wanted = [&](int outer) {
    std::vector<int> want(kCount);
    for (int i = 0; i < kCount; ++i) {
      int x = i < kCount / 2 ? input[i] : 0;
      want[i] = (x * outer + set[i % 4]) * 5 + set[i % 4];
    }
    return want;
  };
  for (int times = 1; times <= 3; ++times) {
    check(hipGraphLaunch(exec, stream));
    check(hipStreamSynchronize(stream));
    test.equal("first", output, wanted(2));
    test.equal("calls", calls, times);
  }
  test.equal("variable", seen, std::vector<int>(set, set + 4));

  hipKernelNodeParams now{};
  check(hipGraphKernelNodeGetParams(kernel, &now));
  test.equal("factor of the node", *static_cast<int*>(now.kernelParams[2]), 2);
  factor = 7;
  check(hipGraphExecKernelNodeSetParams(exec, kernel, &launch));
  set[1] = -3;
  check(hipGraphLaunch(exec, stream));
  check(hipStreamSynchronize(stream));
  test.equal("changed", output, wanted(7));
  factor = 11;
  check(hipGraphKernelNodeSetParams(kernel, &launch));
  hipGraphNode_t where = nullptr;
  hipGraphExecUpdateResult result{};
  check(hipGraphExecUpdate(exec, graph, &where, &result));
  check(hipGraphLaunch(exec, stream));
  check(hipStreamSynchronize(stream));
  test.equal("updated", output, wanted(11));

  check(hipGraphExecDestroy(exec));
  check(hipGraphDestroy(inner));
  check(hipGraphDestroy(graph));
  check(hipStreamDestroy(stream));
  check(hipFree(data));
  return test.finish();
}
