// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches with attributes by the driver: of kernels of a module, which is the file that the argument names, and of a
// graph that has them. With "unknown" as the second argument also such as a recorder knows nothing of.
#include <cstring>
#include <vector>

#include "cuda.h"
#include "driver.h"
#include "graphs.h"

constexpr int kProgrammaticEvent = 7, kPreferredCluster = 11, kUnknown = 99;
constexpr int kClusterWidth = 11, kClusterHeight = 12, kClusterDepth = 13;  // CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_…
constexpr unsigned kBlocks = 8, kThreads = 32, kCount = kBlocks * kThreads;

CUdeviceptr data;
int by = 3;
unsigned count = kCount;
void* of_scale[] = {&data, &by, &count};
void* of_shift[] = {&data, &count};

void launch(CUfunction function, void** list, std::vector<LaunchAttribute> attributes) {
  const DriverLaunchConfig config{kBlocks, kThreads,          0,
                                  nullptr, attributes.data(), static_cast<unsigned>(attributes.size())};
  CHECK(cuLaunchKernelEx(&config, function, list, nullptr) == 0 && cuCtxSynchronize() == 0);
}

void graph_of(CUfunction function) {
  DriverKernelNode scaling{function, kBlocks, kThreads, 0, of_scale, nullptr, nullptr, nullptr};
  cudaGraph_t graph;
  cudaGraphNode_t node;
  cudaGraphExec_t ready;
  const unsigned cluster[16] = {4, 1, 1};
  CHECK(cuGraphCreate(&graph, 0) == 0 && cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &scaling) == 0);
  CHECK(cuGraphKernelNodeSetAttribute(node, kClusterDimension, cluster) == 0);
  CHECK(cuGraphInstantiateWithFlags(&ready, graph, 0) == 0);
  CHECK(cuGraphLaunch(ready, nullptr) == 0 && cuCtxSynchronize() == 0);
  CHECK(cuGraphExecDestroy(ready) == 0 && cuGraphDestroy(graph) == 0);
}

int main(int argc, char** arguments) {
  CUcontext context;
  CUmodule module;
  CUfunction scale, shift;
  CUdeviceptr variable;
  size_t size;
  int offset = 40, host[kCount];
  CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxSetCurrent(context) == 0);
  CHECK(cuModuleLoad(&module, arguments[1]) == 0);
  CHECK(cuModuleGetFunction(&scale, module, "scale") == 0 && cuModuleGetFunction(&shift, module, "shift") == 0);
  CHECK(cuModuleGetGlobal_v2(&variable, &size, module, "offset") == 0);
  CHECK(cuMemcpyHtoD_v2(variable, &offset, sizeof offset) == 0);
  for (unsigned i = 0; i < kCount; ++i) host[i] = static_cast<int>(i);
  CHECK(cuMemAlloc_v2(&data, sizeof host) == 0 && cuMemcpyHtoD_v2(data, host, sizeof host) == 0);

  launch(scale, of_scale, {{kPriority, 0, {static_cast<unsigned>(-5)}}, {kStreamSerialization, 0, {1}}});
  launch(scale, of_scale, {{kClusterDimension, 0, {2, 1, 1}}, {kStreamSerialization, 0, {0}}});
  launch(shift, of_shift, {{kCooperative, 0, {1}}});
  graph_of(scale);
  // Clusters that all launches of the function have.
  CHECK(cuFuncSetAttribute(shift, kClusterWidth, 2) == 0 && cuFuncSetAttribute(shift, kClusterHeight, 2) == 0);
  CHECK(cuFuncSetAttribute(shift, kClusterDepth, 1) == 0);
  CHECK(cuLaunchKernel(shift, kBlocks / 2, 2, 1, kThreads, 1, 1, 0, nullptr, of_shift, nullptr) == 0);
  CHECK(cuCtxSynchronize() == 0);
  if (argc > 2 && std::strcmp(arguments[2], "unknown") == 0) {
    launch(scale, of_scale,
           {{kProgrammaticEvent, 0, {}}, {kClusterDimension, 0, {2, 1, 1}}, {kPreferredCluster, 0, {4, 1, 1}}});
    launch(shift, of_shift, {{kUnknown, 0, {1}}});
  }
  CHECK(cuMemcpyDtoH_v2(host, data, sizeof host) == 0);
  CHECK(cuMemFree_v2(data) == 0 && cuModuleUnload(module) == 0);
  std::printf("attributes: %d\n", host[5]);
}
