// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Graphs of the driver's interface: one of a module's kernels, of which one is changed once it is ready, with a node of
// the runtime's and a kernel of the program's own among them; and one noted down from a stream.
#include "cuda.h"
#include "driver.h"
#include "graphs.h"

constexpr unsigned kCount = 3000, kThreads = 128, kBlocks = (kCount + kThreads - 1) / kThreads;

__global__ void minus(int* data, int value) {
  if (index() < kCount) data[index()] -= value;
}

struct Program {
  CUfunction scale, shift;
  CUdeviceptr data;
};

// Whether all are what `number` makes of their place.
template <class Number>
void check_contents(CUdeviceptr data, const Number& number) {
  static int host[kCount];
  CHECK(cuMemcpyDtoH_v2(host, data, sizeof host) == 0);
  for (unsigned i = 0; i < kCount; ++i) CHECK(host[i] == number(static_cast<int>(i)));
}

void built(const Program& program) {
  CUdeviceptr data = program.data;
  int by = 3, less = 1;
  unsigned count = kCount;
  void *of_scale[] = {&data, &by, &count}, *of_shift[] = {&data, &count}, *of_minus[] = {&data, &less};
  DriverKernelNode scaling{program.scale, kBlocks, kThreads, 0, of_scale, nullptr, nullptr, nullptr};
  DriverKernelNode shifting{program.shift, kBlocks, kThreads, 0, of_shift, nullptr, nullptr, nullptr};
  KernelNode subtracting{reinterpret_cast<void*>(minus), kBlocks, kThreads, 0, of_minus, nullptr};
  cudaGraph_t graph;
  cudaGraphNode_t first, second, third;
  cudaGraphExec_t ready;
  CHECK(cuGraphCreate(&graph, 0) == 0);
  CHECK(cuGraphAddKernelNode_v2(&first, graph, nullptr, 0, &scaling) == 0);
  CHECK(cuGraphAddKernelNode_v2(&second, graph, &first, 1, &shifting) == 0);
  CHECK(cudaGraphAddKernelNode(&third, graph, &second, 1, &subtracting) == 0);
  CHECK(cuGraphInstantiateWithFlags(&ready, graph, 0) == 0);
  CHECK(cuGraphLaunch(ready, nullptr) == 0 && cuCtxSynchronize() == 0);
  check_contents(data, [](int i) { return i * 3 + 40 - 1; });
  by = 2;
  CHECK(cuGraphExecKernelNodeSetParams_v2(ready, first, &scaling) == 0);
  CHECK(cuGraphLaunch(ready, nullptr) == 0 && cuCtxSynchronize() == 0);
  check_contents(data, [](int i) { return (i * 3 + 39) * 2 + 39; });
  CHECK(cuGraphExecDestroy(ready) == 0 && cuGraphDestroy(graph) == 0);
}

void captured(const Program& program) {
  CUdeviceptr data = program.data;
  int by = 5;
  unsigned count = kCount;
  void* of_scale[] = {&data, &by, &count};
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  CHECK(cuStreamCreate(&stream, 0) == 0 && cuStreamBeginCapture_v2(stream, 0) == 0);
  CHECK(cuLaunchKernel(program.scale, kBlocks, 1, 1, kThreads, 1, 1, 0, stream, of_scale, nullptr) == 0);
  CHECK(cuStreamEndCapture(stream, &graph) == 0 && cuGraphInstantiateWithFlags(&ready, graph, 0) == 0);
  CHECK(cuGraphLaunch(ready, stream) == 0 && cuStreamSynchronize(stream) == 0);
  check_contents(data, [](int i) { return ((i * 3 + 39) * 2 + 39) * 5; });
  CHECK(cuGraphExecDestroy(ready) == 0 && cuGraphDestroy(graph) == 0 && cuStreamDestroy_v2(stream) == 0);
}

int main(int, char** arguments) {
  CUcontext context;
  CUmodule module;
  Program program;
  CUdeviceptr variable;
  size_t size;
  static int host[kCount];
  int offset = 40;
  CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxSetCurrent(context) == 0);
  CHECK(cuModuleLoad(&module, arguments[1]) == 0);
  CHECK(cuModuleGetFunction(&program.scale, module, "scale") == 0);
  CHECK(cuModuleGetFunction(&program.shift, module, "shift") == 0);
  CHECK(cuModuleGetGlobal_v2(&variable, &size, module, "offset") == 0);
  CHECK(cuMemcpyHtoD_v2(variable, &offset, sizeof offset) == 0);
  for (unsigned i = 0; i < kCount; ++i) host[i] = static_cast<int>(i);
  CHECK(cuMemAlloc_v2(&program.data, sizeof host) == 0);
  CHECK(cuMemcpyHtoD_v2(program.data, host, sizeof host) == 0);
  built(program);
  captured(program);
  CHECK(cuMemFree_v2(program.data) == 0 && cuModuleUnload(module) == 0);
  std::puts("driver_graphs: ok");
}
