// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches in whose place variants may run, by every way there is: `applied WAY [MODULE]`. They print what they left:
// with -DMORE=1, as variants are built, kernels add one more.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#ifndef MORE
#define MORE 0
#endif

constexpr unsigned kCount = 64;

__constant__ int factor;
__device__ int added;  // kernels read it only
__device__ int calls;

static __device__ unsigned place() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void add(int* data, int value) { data[place()] += value + MORE; }
__global__ void scale(int* data) { data[place()] = data[place()] * factor + added + MORE; }
__global__ void count(int* data) {
  if (place() == 0) calls = calls + 1;
  data[place()] += MORE + 1;
}

static int* memory() {
  int* data = device_array<int>(kCount);
  check(hipMemset(data, 0, kCount * sizeof(int)));
  return data;
}

static void print(const char* name, const int* data) {
  int host[kCount];
  check(hipMemcpy(host, data, sizeof host, hipMemcpyDeviceToHost));
  for (int value : host) {
    if (value != host[0]) std::exit(2);
  }
  std::printf("%s %d\n", name, host[0]);
  std::fflush(stdout);
}

static void repeated(int times) {
  int* data = memory();
  for (int i = 0; i < times; ++i) add<<<2, 32>>>(data, 10);
  check(hipGetLastError());
  print("repeated", data);
}

static void runtime() {
  int *data = memory(), value = 10;
  void* list[] = {&data, &value};
  check(hipLaunchKernel(reinterpret_cast<const void*>(add), 2, 32, list, 0, nullptr));
  print("kernel", data);
  check(hipLaunchCooperativeKernel(reinterpret_cast<const void*>(add), 2, 32, list, 0, nullptr));
  print("cooperative", data);
}

// By the functions for modules, twice: it is unloaded in between.
static void module_functions(const char* path) {
  int *data = memory(), value = 10;
  void* list[] = {&data, &value};
  struct {
    int* data;
    int value;
  } packed{data, value};
  size_t bytes = sizeof packed.data + sizeof packed.value;
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   HIP_LAUNCH_PARAM_END};
  // Early releases lack it.
  using Launch = hipError_t(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                            hipStream_t, void**);
  auto* launch_together = reinterpret_cast<Launch*>(dlsym(RTLD_DEFAULT, "hipModuleLaunchCooperativeKernel"));
  for (int i = 0; i < 2; ++i) {
    hipModule_t module;
    hipFunction_t function;
    check(hipModuleLoad(&module, path));
    check(hipModuleGetFunction(&function, module, "_Z3addPii"));
    check(hipModuleLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, nullptr, list, nullptr));
    print("list", data);
    check(hipModuleLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
    print("packed", data);
    check(launch_together(function, 2, 1, 1, 32, 1, 1, 0, nullptr, list));
    print("cooperative", data);
    check(hipModuleUnload(module));
  }
}

static void set_variables(int times, int thousands) {
  check(hipMemcpyToSymbol(HIP_SYMBOL(factor), &times, sizeof times));
  check(hipMemcpyToSymbol(HIP_SYMBOL(added), &thousands, sizeof thousands));
}

// What the application gives its variables between launches.
static void variables() {
  int* data = memory();
  for (int i = 1; i <= 3; ++i) {
    set_variables(i, 1000 * i);
    scale<<<2, 32>>>(data);
    print("scaled", data);
  }
}

static void written() {
  int* data = memory();
  for (int i = 0; i < 3; ++i) count<<<2, 32>>>(data);
  print("counted", data);
}

static hipGraph_t noted_down(hipStream_t stream, int* data, int value) {
  hipGraph_t graph;
  check(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  add<<<2, 32, 0, stream>>>(data, value);
  scale<<<2, 32, 0, stream>>>(data);
  check(hipStreamEndCapture(stream, &graph));
  return graph;
}

// Noted down from a stream, launched twice; then updated by a graph like it.
static void captured() {
  int* data = memory();
  hipStream_t stream;
  hipGraphExec_t ready;
  set_variables(1, 0);
  check(hipStreamCreate(&stream));
  hipGraph_t graph = noted_down(stream, data, 10);
  check(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 2; ++i) {
    check(hipGraphLaunch(ready, stream));
    check(hipStreamSynchronize(stream));
    print("captured", data);
  }
  hipGraphNode_t node;
  hipGraphExecUpdateResult result;
  check(hipGraphExecUpdate(ready, noted_down(stream, data, 100), &node, &result));
  check(hipGraphLaunch(ready, stream));
  check(hipStreamSynchronize(stream));
  print("updated", data);
}

// Two kernels, and one in a child; then the first is changed, and the child.
static void built() {
  int *data = memory(), value = 10;
  void* list[] = {&data, &value};
  hipKernelNodeParams adding{};
  adding.func = reinterpret_cast<void*>(add);
  adding.gridDim = 2;
  adding.blockDim = 32;
  adding.kernelParams = list;
  hipGraph_t graph, child;
  hipGraphNode_t inner, first, second, last;
  hipGraphExec_t ready;
  check(hipGraphCreate(&graph, 0));
  check(hipGraphCreate(&child, 0));
  check(hipGraphAddKernelNode(&inner, child, nullptr, 0, &adding));
  check(hipGraphAddKernelNode(&first, graph, nullptr, 0, &adding));
  check(hipGraphAddKernelNode(&second, graph, &first, 1, &adding));
  check(hipGraphAddChildGraphNode(&last, graph, &second, 1, child));
  check(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  auto launch = [&](const char* name) {
    check(hipGraphLaunch(ready, nullptr));
    check(hipDeviceSynchronize());
    print(name, data);
  };
  launch("built");
  launch("built");
  value = 100;
  check(hipGraphExecKernelNodeSetParams(ready, first, &adding));
  launch("changed");
  check(hipGraphKernelNodeSetParams(inner, &adding));
  check(hipGraphExecChildGraphNodeSetParams(ready, last, child));
  launch("child changed");
}

static void forked() {
  const pid_t child = fork();
  int status = 0;
  if (child == 0) {
    repeated(2);
    _exit(0);
  }
  waitpid(child, &status, 0);
  repeated(3);
}

int main(int, char** arguments) {
  const std::string way = arguments[1];
  if (way == "runtime" || way == "all") runtime();
  if (way == "variables" || way == "all") variables();
  if (way == "written" || way == "all") written();
  if (way == "module") module_functions(arguments[2]);
  if (way == "repeated") repeated(std::atoi(arguments[2]));
  if (way == "captured") captured();
  if (way == "built") built();
  if (way == "fork") forked();
}
