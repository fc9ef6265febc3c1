// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches in whose place variants may run, by every way there is. They print what they left: with -DMORE=1, as
// variants are built, kernels add one more. The first argument says which: see main().
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "cuda.h"
#ifndef WITHOUT_GRAPHS  // nor the driver's functions, nor devices: static_runtime.cc has none
#include "driver.h"
#include "graphs.h"
#endif

#ifndef MORE
#define MORE 0
#endif

extern "C" {
int cudaDeviceReset();
int cudaSetDevice(int);
int cudaLaunchKernelExC_ptsz(const LaunchConfig*, const void*, void**);
int cudaLaunchCooperativeKernel_ptsz(const void*, dim3, dim3, void**, size_t, cudaStream_t);
#ifndef WITHOUT_GRAPHS
int cudaGraphExecUpdate(cudaGraphExec_t, cudaGraph_t, void*, void*);
int cuCtxCreate_v2(CUcontext*, unsigned, int);
int cuCtxDestroy_v2(CUcontext);
int cuLaunchCooperativeKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                              cudaStream_t, void**);
#endif
}

constexpr unsigned kCount = 64;

__constant__ int factor;
__device__ int added;  // kernels read it only
__device__ int calls;

__global__ void add(int* data, int value) { data[index()] += value + MORE; }
__global__ void scale(int* data) { data[index()] = data[index()] * factor + added + MORE; }
__global__ void count(int* data) {
  if (index() == 0) calls = calls + 1;
  data[index()] += MORE + 1;
}

int* memory() {
  void* data = nullptr;
  CHECK(cudaMalloc(&data, kCount * sizeof(int)) == 0 && cudaMemset(data, 0, kCount * sizeof(int)) == 0);
  return static_cast<int*>(data);
}

void print(const char* name, const int* data) {
  int host[kCount];
  CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost) == 0);
  for (int value : host) CHECK(value == host[0]);
  std::printf("%s %d\n", name, host[0]);
}

const void* pointer(void (*function)(int*, int)) { return reinterpret_cast<const void*>(function); }

// By each of the runtime's functions.
void runtime(bool by_thread) {
  int *data = memory(), value = 10;
  void* list[] = {&data, &value};
  LaunchAttribute attributes[] = {{kCooperative, 0, {1}}, {kClusterDimension, 0, {1, 1, 1}}};
  LaunchAttribute clusters{kClusterDimension, 0, {2, 1, 1}};
  LaunchConfig plain{2, 32, 0, nullptr, nullptr, 0}, together{2, 32, 0, nullptr, attributes, 2},
      clustered{2, 32, 0, nullptr, &clusters, 1};
  auto* launch = by_thread ? cudaLaunchKernel_ptsz : cudaLaunchKernel;
  auto* launch_ex = by_thread ? cudaLaunchKernelExC_ptsz : cudaLaunchKernelExC;
  auto* launch_together = by_thread ? cudaLaunchCooperativeKernel_ptsz : cudaLaunchCooperativeKernel;
  CHECK(launch(pointer(add), 2, 32, list, 0, nullptr) == 0);
  CHECK(cudaDeviceSynchronize() == 0);
  print("kernel", data);
  CHECK(launch_ex(&plain, pointer(add), list) == 0 && cudaDeviceSynchronize() == 0);
  print("extended", data);
  CHECK(launch_ex(&together, pointer(add), list) == 0 && cudaDeviceSynchronize() == 0);
  print("cooperative attribute", data);
  CHECK(launch_together(pointer(add), 2, 32, list, 0, nullptr) == 0 && cudaDeviceSynchronize() == 0);
  print("cooperative", data);
  if (!by_thread) {
    CHECK(launch_ex(&clustered, pointer(add), list) == 0 && cudaDeviceSynchronize() == 0);
    print("clusters", data);
  }
}

void repeated(int times) {
  int* data = memory();
  for (int i = 0; i < times; ++i) add<<<2, 32>>>(data, 10);
  print("repeated", data);
}

// What the application gives its variables between launches.
void variables() {
  int* data = memory();
  for (int i = 1; i <= 3; ++i) {
    int thousands = 1000 * i;
    CHECK(cudaMemcpyToSymbol(&factor, &i, sizeof i) == 0);
    CHECK(cudaMemcpyToSymbol(&added, &thousands, sizeof thousands) == 0);
    scale<<<2, 32>>>(data);
    print("scaled", data);
  }
}

void written() {
  int* data = memory();
  for (int i = 0; i < 3; ++i) count<<<2, 32>>>(data);
  print("counted", data);
}

#ifndef WITHOUT_GRAPHS
// Noted down from a stream, launched twice; then updated by a graph like it.
void captured() {
  int* data = memory();
  cudaStream_t stream;
  cudaGraph_t graph, other;
  cudaGraphExec_t ready;
  CHECK(cudaStreamCreate(&stream) == 0 && cudaStreamBeginCapture(stream, 0) == 0);
  add<<<2, 32, 0, stream>>>(data, 10);
  scale<<<2, 32, 0, stream>>>(data);
  CHECK(cudaStreamEndCapture(stream, &graph) == 0 && cudaGraphInstantiateWithFlags(&ready, graph, 0) == 0);
  int one = 1;
  CHECK(cudaMemcpyToSymbol(&factor, &one, sizeof one) == 0);
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaGraphLaunch(ready, stream) == 0 && cudaStreamSynchronize(stream) == 0);
    print("captured", data);
  }
  CHECK(cudaStreamBeginCapture(stream, 0) == 0);
  add<<<2, 32, 0, stream>>>(data, 100);
  scale<<<2, 32, 0, stream>>>(data);
  CHECK(cudaStreamEndCapture(stream, &other) == 0);
  CHECK(cudaGraphExecUpdate(ready, other, nullptr, nullptr) == 0);
  CHECK(cudaGraphLaunch(ready, stream) == 0 && cudaStreamSynchronize(stream) == 0);
  print("updated", data);
  CHECK(cudaGraphExecDestroy(ready) == 0 && cudaGraphDestroy(graph) == 0 && cudaGraphDestroy(other) == 0);
}

// Two kernels, and one in a child; then the first is changed.
void built() {
  int *data = memory(), value = 10;
  void* list[] = {&data, &value};
  KernelNode adding{reinterpret_cast<void*>(add), 2, 32, 0, list, nullptr};
  cudaGraph_t graph, child;
  cudaGraphNode_t inner, first, second, last;
  cudaGraphExec_t ready;
  CHECK(cudaGraphCreate(&graph, 0) == 0 && cudaGraphCreate(&child, 0) == 0);
  CHECK(cudaGraphAddKernelNode(&inner, child, nullptr, 0, &adding) == 0);
  CHECK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &adding) == 0);
  CHECK(cudaGraphAddKernelNode(&second, graph, &first, 1, &adding) == 0);
  CHECK(cudaGraphAddChildGraphNode(&last, graph, &second, 1, child) == 0);
  CHECK(cudaGraphInstantiate(&ready, graph, 0) == 0);
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaGraphLaunch(ready, nullptr) == 0 && cudaDeviceSynchronize() == 0);
    print("built", data);
  }
  value = 100;
  CHECK(cudaGraphExecKernelNodeSetParams(ready, first, &adding) == 0);
  CHECK(cudaGraphLaunch(ready, nullptr) == 0 && cudaDeviceSynchronize() == 0);
  print("changed", data);
  CHECK(cudaGraphExecDestroy(ready) == 0 && cudaGraphDestroy(graph) == 0 && cudaGraphDestroy(child) == 0);
}

void print(const char* name, CUdeviceptr data) {
  int host[kCount];
  CHECK(cuMemcpyDtoH_v2(host, data, sizeof host) == 0);
  for (int value : host) CHECK(value == host[0]);
  std::printf("%s %d\n", name, host[0]);
}

// By each of the driver's functions, twice: the module is unloaded in between.
void driver(const char* path) {
  CUdeviceptr data;
  CHECK(cuMemAlloc_v2(&data, kCount * sizeof(int)) == 0 && cuMemsetD8_v2(data, 0, kCount * sizeof(int)) == 0);
  for (int i = 0; i < 2; ++i) {
    CUmodule module;
    CUfunction function;
    CHECK(cuModuleLoad(&module, path) == 0 && cuModuleGetFunction(&function, module, "_Z3addPii") == 0);
    int value = 10;
    void* list[] = {&data, &value};
    struct {
      CUdeviceptr data;
      int value;
    } packed{data, value};
    size_t bytes = sizeof packed.data + sizeof packed.value;
    void* extra[] = {reinterpret_cast<void*>(1), &packed, reinterpret_cast<void*>(2), &bytes, nullptr};
    LaunchAttribute clusters{kClusterDimension, 0, {2, 1, 1}};
    DriverLaunchConfig config{2, 32, 0, nullptr, &clusters, 1};
    CHECK(cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, nullptr, list, nullptr) == 0 && cuCtxSynchronize() == 0);
    print("list", data);
    CHECK(cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra) == 0 && cuCtxSynchronize() == 0);
    print("packed", data);
    CHECK(cuLaunchKernelEx(&config, function, nullptr, extra) == 0 && cuCtxSynchronize() == 0);
    print("clusters", data);
    CHECK(cuLaunchCooperativeKernel(function, 2, 1, 1, 32, 1, 1, 0, nullptr, list) == 0 && cuCtxSynchronize() == 0);
    print("cooperative", data);
    CHECK(cuModuleUnload(module) == 0);
  }
  CHECK(cuMemFree_v2(data) == 0);
}

// In the primary context, and in two of the application's own, of which one is gone when the other is made.
void contexts(const char* path) {
  CUcontext context;
  CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxSetCurrent(context) == 0);
  driver(path);
  for (int i = 0; i < 2; ++i) {
    CHECK(cuCtxCreate_v2(&context, 0, 0) == 0);
    driver(path);
    CHECK(cuCtxDestroy_v2(context) == 0);
  }
}
#endif

void reset() {
  for (int i = 0; i < 2; ++i) {
    repeated(2);
    variables();
    CHECK(cudaDeviceReset() == 0);
  }
}

void forked() {
  const pid_t child = fork();
  int status = 0;
  if (child == 0) {
    repeated(2);
    std::fflush(stdout);
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  repeated(3);
}

int main(int, char** arguments) {
  const char* what = arguments[1];
  auto is = [what](const char* name) { return std::strcmp(what, name) == 0; };
  if (is("runtime") || is("by-thread")) runtime(is("by-thread"));
  if (is("repeated")) repeated(std::atoi(arguments[2]));
  if (is("variables")) variables();
  if (is("written")) written();
#ifndef WITHOUT_GRAPHS
  if (is("devices")) {
    for (int device = 0; device < 2; ++device) {
      CHECK(cudaSetDevice(device) == 0);
      repeated(4);
    }
  }
  if (is("captured")) captured();
  if (is("built")) built();
  if (is("contexts")) contexts(arguments[2]);
#endif
  if (is("reset")) reset();
  if (is("fork")) forked();
  if (is("all")) {
    runtime(false);
    variables();
    written();
  }
}
