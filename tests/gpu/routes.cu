// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What routes_check.py records, by nvcc or mneme-inject, with the shared CUDA runtime or a static one: the argument
// says which. With -DPLUGIN a library that `run` is called of. Each says "MODE: ok".
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(condition)                                                                                              \
  do {                                                                                                                \
    if (!(condition)) {                                                                                               \
      std::fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, cudaGetErrorName(cudaGetLastError())); \
      std::exit(1);                                                                                                   \
    }                                                                                                                 \
  } while (false)
#define OK(call) CHECK((call) == 0)

__constant__ int factor;
__device__ int calls;

__global__ void scale(int* out, const int* in, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) calls = calls + 1;
  if (i < count) out[i] = out[i] + factor * in[i];
}
__global__ void add(int* out, const int* in) { out[threadIdx.x] += in[threadIdx.x] + 1; }
__global__ void fault(int* out) { *reinterpret_cast<volatile int*>(0x10) = *out; }

constexpr int kCount = 1 << 20, kFew = 64;

template <class T>
T* device_memory(size_t count, int byte = 0) {
  void* memory = nullptr;
  OK(cudaMalloc(&memory, count * sizeof(T)));
  OK(cudaMemset(memory, byte, count * sizeof(T)));
  return static_cast<T*>(memory);
}

// Memory of each kind, copies, a constant and a variable.
void memory() {
  int *out = device_memory<int>(kCount), *in = device_memory<int>(kCount), *managed, *pinned, *late, times = 3;
  cudaStream_t stream;
  OK(cudaStreamCreate(&stream));
  OK(cudaMallocManaged(&managed, kFew * sizeof(int)));
  OK(cudaMallocHost(&pinned, kFew * sizeof(int)));
  OK(cudaMallocAsync(&late, kFew * sizeof(int), stream));
  OK(cudaMemsetAsync(late, 0, kFew * sizeof(int), stream));
  OK(cudaMemcpyToSymbol(factor, &times, sizeof times));
  std::vector<int> host(kCount);
  for (int i = 0; i < kCount; ++i) host[i] = i;
  for (int i = 0; i < kFew; ++i) managed[i] = i, pinned[i] = 10 * i;
  OK(cudaMemcpy(in, host.data(), kCount * sizeof(int), cudaMemcpyHostToDevice));
  for (int round = 0; round < 2; ++round) scale<<<kCount / 256, 256>>>(out, in, kCount);
  add<<<1, kFew, 0, stream>>>(late, pinned);
  OK(cudaStreamSynchronize(stream));
  add<<<1, kFew>>>(managed, pinned);
  OK(cudaDeviceSynchronize());
  CHECK(managed[5] == 5 + 50 + 1);
  OK(cudaMemcpy(host.data(), out, kCount * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) CHECK(host[i] == 6 * i);
  OK(cudaMemcpyFromSymbol(&times, calls, sizeof times));
  CHECK(times == 2);
  OK(cudaFreeAsync(late, stream));
  OK(cudaFree(out));
  OK(cudaFree(in));
  OK(cudaFree(managed));
  OK(cudaFreeHost(pinned));
  OK(cudaStreamDestroy(stream));
}

// Noted down from a stream, launched twice.
void graph() {
  int *out = device_memory<int>(kFew), *in = device_memory<int>(kFew, 1);
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  OK(cudaStreamCreate(&stream));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  add<<<1, kFew, 0, stream>>>(out, in);
  OK(cudaMemsetAsync(in, 2, kFew * sizeof(int), stream));
  OK(cudaMemcpyAsync(in, in + 32, 32 * sizeof(int), cudaMemcpyDeviceToDevice, stream));
  add<<<1, kFew, 0, stream>>>(out, in);
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaGraphInstantiateWithFlags(&ready, graph, 0));
  for (int i = 0; i < 2; ++i) OK(cudaGraphLaunch(ready, stream));
  OK(cudaStreamSynchronize(stream));
  int result = 0;
  OK(cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost));
  CHECK(result == 0x01010101 + 3 * 0x02020202 + 4);
  OK(cudaGraphExecDestroy(ready));
  OK(cudaGraphDestroy(graph));
  OK(cudaStreamDestroy(stream));
}

// With attributes: what the kernel sees of its cluster comes from the launch, or from the function.
template <unsigned by>
__global__ void in_clusters(int* out) {
  unsigned blocks = 0;
#ifdef __CUDA_ARCH__
  asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(blocks));
#endif
  out[blockIdx.x * blockDim.x + threadIdx.x] += static_cast<int>(by * blocks);
}

#ifdef __NVCC__  // clang has no such attribute
__global__ void __cluster_dims__(2, 1, 1) in_own_clusters(int* out) {
  unsigned blocks = 0;
  asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(blocks));
  out[blockIdx.x * blockDim.x + threadIdx.x] += static_cast<int>(100000 * blocks);
}
#endif

cudaLaunchAttribute attribute(cudaLaunchAttributeID which) {
  cudaLaunchAttribute made{};
  made.id = which;
  return made;
}

void attributes() {
  int *out = device_memory<int>(kFew), *in = device_memory<int>(kFew, 1);
  void* arguments[] = {&out, &in};
  OK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(add), dim3(1), dim3(kFew), arguments, 0, 0));
  std::vector<cudaLaunchAttribute> wanted = {attribute(cudaLaunchAttributeClusterDimension),
                                             attribute(cudaLaunchAttributePriority),
                                             attribute(cudaLaunchAttributeProgrammaticStreamSerialization)};
  wanted[0].val.clusterDim.x = 2, wanted[0].val.clusterDim.y = 1, wanted[0].val.clusterDim.z = 1;
  wanted[1].val.priority = -1;
  wanted[2].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(4), config.blockDim = dim3(kFew / 4), config.attrs = wanted.data();
  config.numAttrs = static_cast<unsigned>(wanted.size());
  OK(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(in_clusters<10>), arguments));
  const auto* always = reinterpret_cast<const void*>(in_clusters<1000>);
  OK(cudaFuncSetAttribute(always, cudaFuncAttributeRequiredClusterWidth, 4));
  OK(cudaFuncSetAttribute(always, cudaFuncAttributeRequiredClusterHeight, 1));
  OK(cudaFuncSetAttribute(always, cudaFuncAttributeRequiredClusterDepth, 1));
  OK(cudaLaunchKernel(always, dim3(4), dim3(kFew / 4), arguments, 0, 0));
  int result = 0, expected = 0x01010101 + 1 + 20 + 4000;
#ifdef __NVCC__
  in_own_clusters<<<4, kFew / 4>>>(out);
  expected += 200000;
#endif
  OK(cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost));
  CHECK(result == expected);
}

void launch_once() {
  int *out = device_memory<int>(kFew), *in, result = 0;
  OK(cudaMallocHost(&in, kFew * sizeof(int)));
  for (int i = 0; i < kFew; ++i) in[i] = 0x01010101;
  add<<<1, kFew>>>(out, in);
  OK(cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost));
  CHECK(result == 0x01010101 + 1);
  OK(cudaFree(out));
  OK(cudaFreeHost(in));
}

// The device is reset, and used again.
void reset() {
  launch_once();
  OK(cudaDeviceReset());
  launch_once();
}

// A child that uses the device, which its parent does only afterwards.
void forked() {
  const pid_t child = fork();
  if (child == 0) {
    launch_once();
    std::_Exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  launch_once();
}

// After a kernel that failed nothing is given out any more.
void failed() {
  int* out = device_memory<int>(1);
  fault<<<1, 1>>>(out);
  std::printf("%d\n", cudaDeviceSynchronize());
  std::printf("%d\n", cudaMalloc(&out, 4));
  std::printf("%d\n", cudaGetLastError());
}

// ---- the driver's interface, looked up ----

void* driver() {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  CHECK(library);
  return library;
}
template <class Function>
Function* find(Function*, const char* name) {
  void* found = dlsym(driver(), name);
  CHECK(found);
  return reinterpret_cast<Function*>(found);
}
#define TEXT(name) #name
#define DRIVER(name) find(static_cast<decltype(&name)>(nullptr), TEXT(name))

constexpr char kPtx[] =
    ".version 8.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry plus(.param .u64 p) {\n .reg .b32 %r<3>; .reg .b64 %d<5>;\n"
    " ld.param.u64 %d1, [p]; cvta.to.global.u64 %d2, %d1; mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 4;\n"
    " add.s64 %d4, %d2, %d3; ld.global.u32 %r2, [%d4]; add.s32 %r2, %r2, 1; st.global.u32 [%d4], %r2; ret;\n}\n";

// Two contexts of one device, a module in each.
void contexts() {
  CUdevice device;
  OK(DRIVER(cuInit)(0));
  OK(DRIVER(cuDeviceGet)(&device, 0));
  for (int i = 0; i < 2; ++i) {
    CUcontext context;
    CUmodule module;
    CUfunction plus;
    CUdeviceptr data;
    auto create = reinterpret_cast<CUresult (*)(CUcontext*, unsigned, CUdevice)>(dlsym(driver(), "cuCtxCreate_v2"));
    OK(create(&context, 0, device));
    OK(DRIVER(cuModuleLoadData)(&module, kPtx));
    OK(DRIVER(cuModuleGetFunction)(&plus, module, "plus"));
    OK(DRIVER(cuMemAlloc)(&data, kFew * 4));
    OK(DRIVER(cuMemsetD8)(data, 0, kFew * 4));
    void* arguments[] = {&data};
    for (int round = 0; round < 2; ++round) {
      OK(DRIVER(cuLaunchKernel)(plus, 1, 1, 1, kFew, 1, 1, 0, nullptr, arguments, nullptr));
    }
    int result = 0;
    OK(DRIVER(cuMemcpyDtoH)(&result, data, sizeof result));
    CHECK(result == 2);
    OK(DRIVER(cuMemFree)(data));
    OK(DRIVER(cuModuleUnload)(module));  // before the end
    OK(DRIVER(cuCtxDestroy)(context));
  }
}

// A context of the device's, memory in it, and the launch of kPtx's kernel with its arguments in one buffer.
struct Driven {
  Driven() {
    CUcontext context;
    OK(DRIVER(cuInit)(0));
    OK(DRIVER(cuDevicePrimaryCtxRetain)(&context, 0));
    OK(DRIVER(cuCtxSetCurrent)(context));
    OK(DRIVER(cuMemAlloc)(&data, kFew * 4));
    OK(DRIVER(cuMemsetD8)(data, 0, kFew * 4));
  }
  void launch(CUfunction function, unsigned shared = 0) {
    size_t size = sizeof data;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &data, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    OK(DRIVER(cuLaunchKernel)(function, 1, 1, 1, kFew, 1, 1, shared, nullptr, nullptr, extra));
  }
  void check(int expected) {
    int result = 0;
    OK(DRIVER(cuMemcpyDtoH)(&result, data, sizeof result));
    CHECK(result == expected);
  }
  CUfunction plus_of(CUmodule module) {
    CUfunction plus;
    OK(DRIVER(cuModuleGetFunction)(&plus, module, "plus"));
    return plus;
  }
  CUdeviceptr data;
};

// A module by the driver's linker, which goes before the kernel is launched.
void linked() {
  Driven driven;
  CUlinkState link;
  CUmodule module;
  void* cubin;
  size_t size;
  OK(DRIVER(cuLinkCreate)(0, nullptr, nullptr, &link));
  OK(DRIVER(cuLinkAddData)(link, CU_JIT_INPUT_PTX, const_cast<char*>(kPtx), sizeof kPtx, "plus", 0, nullptr, nullptr));
  OK(DRIVER(cuLinkComplete)(link, &cubin, &size));
  OK(DRIVER(cuModuleLoadData)(&module, cubin));
  OK(DRIVER(cuLinkDestroy)(link));
  driven.launch(driven.plus_of(module));
  driven.check(1);
}

// With options for the driver's compiler.
void compiled() {
  Driven driven;
  CUmodule module;
  CUjit_option options[] = {CU_JIT_MAX_REGISTERS, CU_JIT_OPTIMIZATION_LEVEL};
  void* values[] = {reinterpret_cast<void*>(32), reinterpret_cast<void*>(1)};
  OK(DRIVER(cuModuleLoadDataEx)(&module, kPtx, 2, options, values));
  driven.launch(driven.plus_of(module));
  driven.check(1);
}

// A library's kernel by its own handle, with more shared memory than there is without asking.
void library() {
  Driven driven;
  CUlibrary library;
  CUkernel plus;
  constexpr int kShared = 100000;
  OK(DRIVER(cuLibraryLoadData)(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  OK(DRIVER(cuLibraryGetKernel)(&plus, library, "plus"));
  OK(DRIVER(cuKernelSetAttribute)(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kShared, plus, 0));
  driven.launch(reinterpret_cast<CUfunction>(plus), kShared);
  driven.check(1);
}

// The driver's graphs: built, changed once it is ready, and noted down from a stream.
void graphs() {
  Driven driven, other;
  CUmodule module;
  CUgraph graph;
  CUgraphNode node;
  CUgraphExec ready;
  CUstream stream;
  OK(DRIVER(cuModuleLoadData)(&module, kPtx));
  CUfunction plus = driven.plus_of(module);
  CUDA_KERNEL_NODE_PARAMS parameters{};
  void* arguments[] = {&driven.data};
  parameters.func = plus, parameters.kernelParams = arguments, parameters.blockDimX = kFew;
  parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = parameters.blockDimY = parameters.blockDimZ = 1;
  OK(DRIVER(cuGraphCreate)(&graph, 0));
  OK(DRIVER(cuGraphAddKernelNode)(&node, graph, nullptr, 0, &parameters));
  OK(DRIVER(cuGraphInstantiateWithFlags)(&ready, graph, 0));
  OK(DRIVER(cuGraphLaunch)(ready, nullptr));
  arguments[0] = &other.data;
  OK(DRIVER(cuGraphExecKernelNodeSetParams)(ready, node, &parameters));
  OK(DRIVER(cuGraphLaunch)(ready, nullptr));
  OK(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
  OK(DRIVER(cuCtxSynchronize)());
  OK(DRIVER(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(DRIVER(cuLaunchKernel)(plus, 1, 1, 1, kFew, 1, 1, 0, stream, arguments, nullptr));
  OK(DRIVER(cuStreamEndCapture)(stream, &graph));
  OK(DRIVER(cuGraphInstantiateWithFlags)(&ready, graph, 0));
  OK(DRIVER(cuGraphLaunch)(ready, stream));
  OK(DRIVER(cuStreamSynchronize)(stream));
  driven.check(1);
  other.check(2);
}

// Whether what cuGetProcAddress gives is what the library exports: of how many names not.
void lookups() {
  const char* names[] = {"cuMemAlloc",        "cuMemFree",          "cuLaunchKernel",       "cuLaunchKernelEx",
                         "cuLibraryLoadData", "cuMemcpyHtoD",       "cuMemcpyDtoH",         "cuMemcpyAsync",
                         "cuGraphLaunch",     "cuGraphInstantiate", "cuStreamBeginCapture", "cuGraphAddKernelNode",
                         "cuMemAllocAsync",   "cuMemsetD8Async"};
  int others = 0;
  using Get = CUresult(const char*, void**, int, unsigned long long, int*);
  auto* get = reinterpret_cast<Get*>(dlsym(driver(), "cuGetProcAddress_v2"));
  for (const char* name : names) {
    for (unsigned long long flags : {1ULL, 2ULL}) {
      void* found = nullptr;
      int status = 0;
      OK(get(name, &found, 13000, flags, &status));
      Dl_info info{};
      bool known = false;
      for (const char* ending : {"", "_v2", "_v3", "_ptsz", "_ptds", "_v2_ptsz", "_v2_ptds", "WithFlags"}) {
        known = known || dlsym(driver(), (std::string(name) + ending).c_str()) == found;
      }
      dladdr(found, &info);
      if (!known) std::fprintf(stderr, "%s %llu: %s\n", name, flags, info.dli_sname ? info.dli_sname : "(no export)");
      others += !known;
    }
  }
  std::printf("%d others\n", others);
}

int run(const char* mode) {
  const struct {
    const char* name;
    void (*run)();
  } modes[] = {{"memory", memory}, {"graph", graph},       {"attributes", attributes}, {"reset", reset},
               {"forked", forked}, {"contexts", contexts}, {"failed", failed},         {"lookups", lookups},
               {"linked", linked}, {"compiled", compiled}, {"library", library},       {"graphs", graphs}};
  for (const auto& one : modes) {
    if (std::strcmp(mode, one.name) != 0) continue;
    one.run();
    std::printf("%s: ok\n", mode);
    return 0;
  }
  return 2;
}

#ifdef PLUGIN
extern "C" int run_plugin() { return run("memory"); }
#else
int main(int count, char** arguments) {
  if (count > 2) {  // a plug-in, and how it is opened
    void* plugin = dlopen(arguments[2], RTLD_NOW | std::atoi(arguments[1]));
    if (!plugin) return std::fprintf(stderr, "%s\n", dlerror()), 1;
    return reinterpret_cast<int (*)()>(dlsym(plugin, "run_plugin"))();
  }
  return run(arguments[1]);
}
#endif
