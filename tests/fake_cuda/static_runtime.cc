// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A CUDA runtime that a program or a library holds itself, as NVIDIA's static one is: it finds the driver by dlopen,
// there cuGetProcAddress_v2 by dlsym (with BY_DLVSYM, by dlvsym), and by that all else; it loads what start-up code
// registers by cuLibraryLoadData, and launches libraries' kernels. As much of it as the programs beside this use.
#include <dlfcn.h>

#include <map>
#include <mutex>
#include <string>

#include "vendor/cuda/api.h"

using namespace mneme::vendor;
using namespace mneme::vendor::cuda;

namespace {

using Flags = unsigned long long;
constexpr Flags kLegacy = 1, kPerThread = 2;
constexpr int kVersion = 13000;

using GetProcAddress = Status(const char*, void**, int, Flags, int*);
GetProcAddress* get_proc_address() {
  static auto* const found = [] {
    void* driver = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) return static_cast<void*>(nullptr);
#ifdef BY_DLVSYM
    return ::dlvsym(driver, "cuGetProcAddress_v2", "mneme_fake_cuda");
#else
    return ::dlsym(driver, "cuGetProcAddress_v2");
#endif
  }();
  return reinterpret_cast<GetProcAddress*>(found);
}

// A function of the driver's; called where there is none, it answers "not found".
template <class... Arguments>
class Driver {
 public:
  explicit Driver(const char* name, Flags flags = kLegacy) {
    int status = 0;
    if (auto* get = get_proc_address()) get(name, reinterpret_cast<void**>(&function_), kVersion, flags, &status);
  }
  Status operator()(Arguments... arguments) const { return function_ ? function_(arguments...) : 500; }

 private:
  Status (*function_)(Arguments...) = nullptr;
};
#define DRIVER(name, ...) static const Driver<__VA_ARGS__> name(#name)

void* primary = nullptr;  // context of the first device; null: it has to be asked for

// The primary context of the first device is the thread's if it has none.
void enter() {
  DRIVER(cuInit, unsigned);
  DRIVER(cuDevicePrimaryCtxRetain, void**, int);
  DRIVER(cuCtxGetCurrent, void**);
  DRIVER(cuCtxSetCurrent, void*);
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (!primary && (cuInit(0) != 0 || cuDevicePrimaryCtxRetain(&primary, 0) != 0)) primary = nullptr;
  void* current = nullptr;
  if (cuCtxGetCurrent(&current) == 0 && !current) cuCtxSetCurrent(primary);
}

struct Binary {
  const FatBinaryWrapper* wrapper = nullptr;
  Library library = nullptr;
};
struct Registered {
  Binary* binary = nullptr;
  std::string name;
  Kernel kernel = nullptr;
};
struct State {
  std::mutex mutex;
  std::map<const void*, Registered> functions, variables;  // by the host's
};
State& state() {
  static auto* only = new State;
  return *only;
}

Library library_of(Binary& binary) {
  DRIVER(cuLibraryLoadData, Library*, const void*, int*, void**, unsigned, int*, void**, unsigned);
  enter();
  if (!binary.library) cuLibraryLoadData(&binary.library, binary.wrapper, nullptr, nullptr, 0, nullptr, nullptr, 0);
  return binary.library;
}

Kernel kernel_of(const void* function) {
  DRIVER(cuLibraryGetKernel, Kernel*, Library, const char*);
  std::lock_guard lock(state().mutex);
  auto found = state().functions.find(function);
  if (found == state().functions.end()) return nullptr;
  Registered& registered = found->second;
  if (!registered.kernel) {
    cuLibraryGetKernel(&registered.kernel, library_of(*registered.binary), registered.name.c_str());
  }
  return registered.kernel;
}

thread_local struct {
  Dimensions grid, block;
  size_t shared;
  Stream stream;
} configured;

Address address_of(const void* pointer) { return reinterpret_cast<Address>(pointer); }

}  // namespace

#define RUNTIME extern "C" [[gnu::visibility("hidden")]]

// ---- code ----

RUNTIME void** __cudaRegisterFatBinary(const FatBinaryWrapper* wrapper) {
  return reinterpret_cast<void**>(new Binary{wrapper});
}
RUNTIME void __cudaRegisterFatBinaryEnd(void**) {}
RUNTIME void __cudaUnregisterFatBinary(void** handle) {
  DRIVER(cuLibraryUnload, Library);
  auto* binary = reinterpret_cast<Binary*>(handle);
  if (binary->library) cuLibraryUnload(binary->library);
}
RUNTIME void __cudaRegisterFunction(void** handle, const char* function, char*, const char* name, int, void*, void*,
                                    void*, void*, int*) {
  state().functions[function] = {reinterpret_cast<Binary*>(handle), name};
}
RUNTIME void __cudaRegisterVar(void** handle, char* variable, char*, const char* name, int, size_t, int, int) {
  state().variables[variable] = {reinterpret_cast<Binary*>(handle), name};
}
RUNTIME unsigned __cudaPushCallConfiguration(Dimensions grid, Dimensions block, size_t shared, Stream stream) {
  configured = {grid, block, shared, stream};
  return 0;
}
RUNTIME Status __cudaPopCallConfiguration(Dimensions* grid, Dimensions* block, size_t* shared, Stream* stream) {
  *grid = configured.grid, *block = configured.block, *shared = configured.shared, *stream = configured.stream;
  return 0;
}

namespace {

// With the stream that a null one means.
template <Flags flags>
Status launch(const void* function, Dimensions grid, Dimensions block, void** arguments, size_t shared, Stream stream) {
  static const Driver<Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**,
                      void**>
      cuLaunchKernel("cuLaunchKernel", flags);
  return cuLaunchKernel(kernel_of(function), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                        static_cast<unsigned>(shared), stream, arguments, nullptr);
}

template <Flags flags>
Status launch_together(const void* function, Dimensions grid, Dimensions block, void** arguments, size_t shared,
                       Stream stream) {
  static const Driver<Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**>
      cuLaunchCooperativeKernel("cuLaunchCooperativeKernel", flags);
  return cuLaunchCooperativeKernel(kernel_of(function), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                   static_cast<unsigned>(shared), stream, arguments);
}

template <Flags flags>
Status launch_with(const LaunchConfig* config, const void* function, void** arguments) {
  static const Driver<const DriverLaunchConfig*, Function, void**, void**> cuLaunchKernelEx("cuLaunchKernelEx", flags);
  const DriverLaunchConfig drivers{config->grid,   config->block,      static_cast<unsigned>(config->shared),
                                   config->stream, config->attributes, config->count};
  return cuLaunchKernelEx(&drivers, kernel_of(function), arguments, nullptr);
}

}  // namespace

RUNTIME Status cudaLaunchKernel(const void* function, Dimensions grid, Dimensions block, void** arguments,
                                size_t shared, Stream stream) {
  return launch<kLegacy>(function, grid, block, arguments, shared, stream);
}
RUNTIME Status cudaLaunchKernel_ptsz(const void* function, Dimensions grid, Dimensions block, void** arguments,
                                     size_t shared, Stream stream) {
  return launch<kPerThread>(function, grid, block, arguments, shared, stream);
}
RUNTIME Status cudaLaunchKernelExC(const LaunchConfig* config, const void* function, void** arguments) {
  return launch_with<kLegacy>(config, function, arguments);
}
RUNTIME Status cudaLaunchKernelExC_ptsz(const LaunchConfig* config, const void* function, void** arguments) {
  return launch_with<kPerThread>(config, function, arguments);
}
RUNTIME Status cudaLaunchCooperativeKernel(const void* function, Dimensions grid, Dimensions block, void** arguments,
                                           size_t shared, Stream stream) {
  return launch_together<kLegacy>(function, grid, block, arguments, shared, stream);
}
RUNTIME Status cudaLaunchCooperativeKernel_ptsz(const void* function, Dimensions grid, Dimensions block,
                                                void** arguments, size_t shared, Stream stream) {
  return launch_together<kPerThread>(function, grid, block, arguments, shared, stream);
}
RUNTIME Status cudaGetFuncBySymbol(Function* function, const void* host) {
  DRIVER(cuKernelGetFunction, Function*, Kernel);
  return cuKernelGetFunction(function, kernel_of(host));
}

// ---- memory ----

RUNTIME Status cudaMalloc(void** memory, size_t size) {
  DRIVER(cuMemAlloc, void**, size_t);
  enter();
  return cuMemAlloc(memory, size);
}
RUNTIME Status cudaMallocAsync(void** memory, size_t size, Stream stream) {
  DRIVER(cuMemAllocAsync, void**, size_t, Stream);
  enter();
  return cuMemAllocAsync(memory, size, stream);
}
RUNTIME Status cudaMallocAsync_ptsz(void** memory, size_t size, Stream stream) {
  static const Driver<void**, size_t, Stream> cuMemAllocAsync("cuMemAllocAsync", kPerThread);
  enter();
  return cuMemAllocAsync(memory, size, stream);
}
RUNTIME Status cudaMallocManaged(void** memory, size_t size, unsigned flags) {
  DRIVER(cuMemAllocManaged, void**, size_t, unsigned);
  enter();
  return cuMemAllocManaged(memory, size, flags);
}
RUNTIME Status cudaMallocHost(void** memory, size_t size) {
  DRIVER(cuMemHostAlloc, void**, size_t, unsigned);
  enter();
  return cuMemHostAlloc(memory, size, 0);
}
RUNTIME Status cudaFree(void* memory) {
  DRIVER(cuMemFree, void*);
  return cuMemFree(memory);
}
RUNTIME Status cudaFreeAsync(void* memory, Stream stream) {
  DRIVER(cuMemFreeAsync, void*, Stream);
  return cuMemFreeAsync(memory, stream);
}
RUNTIME Status cudaFreeAsync_ptsz(void* memory, Stream stream) {
  static const Driver<void*, Stream> cuMemFreeAsync("cuMemFreeAsync", kPerThread);
  return cuMemFreeAsync(memory, stream);
}
RUNTIME Status cudaFreeHost(void* memory) {
  DRIVER(cuMemFreeHost, void*);
  return cuMemFreeHost(memory);
}
RUNTIME Status cudaMemcpy(void* to, const void* from, size_t size, int kind) {
  DRIVER(cuMemcpyHtoD, Address, const void*, size_t);
  DRIVER(cuMemcpyDtoH, void*, Address, size_t);
  DRIVER(cuMemcpy, Address, Address, size_t);
  enter();
  if (kind == kHostToDevice) return cuMemcpyHtoD(address_of(to), from, size);
  if (kind == kDeviceToHost) return cuMemcpyDtoH(to, address_of(from), size);
  return cuMemcpy(address_of(to), address_of(from), size);
}
RUNTIME Status cudaMemcpy_ptds(void* to, const void* from, size_t size, int kind) {
  static const Driver<void*, Address, size_t> cuMemcpyDtoH("cuMemcpyDtoH", kPerThread);
  static const Driver<Address, Address, size_t> cuMemcpy("cuMemcpy", kPerThread);
  enter();
  if (kind == kDeviceToHost) return cuMemcpyDtoH(to, address_of(from), size);
  return cuMemcpy(address_of(to), address_of(from), size);
}
RUNTIME Status cudaMemcpyAsync_ptsz(void* to, const void* from, size_t size, int kind, Stream stream) {
  static const Driver<Address, const void*, size_t, Stream> cuMemcpyHtoDAsync("cuMemcpyHtoDAsync", kPerThread);
  static const Driver<Address, Address, size_t, Stream> cuMemcpyAsync("cuMemcpyAsync", kPerThread);
  enter();
  if (kind == kHostToDevice) return cuMemcpyHtoDAsync(address_of(to), from, size, stream);
  return cuMemcpyAsync(address_of(to), address_of(from), size, stream);
}
RUNTIME Status cudaMemcpyToSymbol(const void* symbol, const void* from, size_t size, size_t offset, int) {
  DRIVER(cuLibraryGetGlobal, Address*, size_t*, Library, const char*);
  DRIVER(cuMemcpyHtoD, Address, const void*, size_t);
  std::lock_guard lock(state().mutex);
  Registered& registered = state().variables[symbol];
  Address address = 0;
  Status status = cuLibraryGetGlobal(&address, nullptr, library_of(*registered.binary), registered.name.c_str());
  return status ? status : cuMemcpyHtoD(address + offset, from, size);
}
RUNTIME Status cudaMemset(void* at, int value, size_t size) {
  DRIVER(cuMemsetD8, Address, unsigned char, size_t);
  enter();
  return cuMemsetD8(address_of(at), static_cast<unsigned char>(value), size);
}
RUNTIME Status cudaMemsetAsync(void* at, int value, size_t size, Stream stream) {
  DRIVER(cuMemsetD8Async, Address, unsigned char, size_t, Stream);
  enter();
  return cuMemsetD8Async(address_of(at), static_cast<unsigned char>(value), size, stream);
}

RUNTIME Status cudaMemsetAsync_ptsz(void* at, int value, size_t size, Stream stream) {
  static const Driver<Address, unsigned char, size_t, Stream> cuMemsetD8Async("cuMemsetD8Async", kPerThread);
  enter();
  return cuMemsetD8Async(address_of(at), static_cast<unsigned char>(value), size, stream);
}

// ---- streams, graphs, the device ----

RUNTIME Status cudaStreamCreate(Stream* stream) {
  DRIVER(cuStreamCreate, Stream*, unsigned);
  enter();
  return cuStreamCreate(stream, 0);
}
RUNTIME Status cudaStreamDestroy(Stream stream) {
  DRIVER(cuStreamDestroy, Stream);
  return cuStreamDestroy(stream);
}
RUNTIME Status cudaStreamSynchronize(Stream stream) {
  DRIVER(cuStreamSynchronize, Stream);
  return cuStreamSynchronize(stream);
}
RUNTIME Status cudaStreamSynchronize_ptsz(Stream stream) {
  static const Driver<Stream> cuStreamSynchronize("cuStreamSynchronize", kPerThread);
  return cuStreamSynchronize(stream);
}
RUNTIME Status cudaStreamBeginCapture(Stream stream, int mode) {
  DRIVER(cuStreamBeginCapture, Stream, int);
  return cuStreamBeginCapture(stream, mode);
}
RUNTIME Status cudaStreamEndCapture(Stream stream, void** graph) {
  DRIVER(cuStreamEndCapture, Stream, void**);
  return cuStreamEndCapture(stream, graph);
}
RUNTIME Status cudaGraphInstantiateWithFlags(void** ready, void* graph, Flags flags) {
  DRIVER(cuGraphInstantiateWithFlags, void**, void*, Flags);
  return cuGraphInstantiateWithFlags(ready, graph, flags);
}
RUNTIME Status cudaGraphInstantiate(void** ready, void* graph, Flags flags) {
  return cudaGraphInstantiateWithFlags(ready, graph, flags);
}
RUNTIME Status cudaGraphLaunch(void* ready, Stream stream) {
  DRIVER(cuGraphLaunch, void*, Stream);
  return cuGraphLaunch(ready, stream);
}
RUNTIME Status cudaGraphExecDestroy(void* ready) {
  DRIVER(cuGraphExecDestroy, void*);
  return cuGraphExecDestroy(ready);
}
RUNTIME Status cudaGraphDestroy(void* graph) {
  DRIVER(cuGraphDestroy, void*);
  return cuGraphDestroy(graph);
}
RUNTIME Status cudaDeviceSynchronize() {
  DRIVER(cuCtxSynchronize, void*);  // from CUDA 13 on it takes a context
  enter();
  return cuCtxSynchronize(nullptr);
}
RUNTIME Status cudaDeviceSetLimit(int limit, size_t value) {
  DRIVER(cuCtxSetLimit, int, size_t);
  enter();
  return cuCtxSetLimit(limit, value);
}
// By a function that has no name there, as NVIDIA's does.
RUNTIME Status cudaDeviceReset() {
  static auto* const reset =
      reinterpret_cast<Status (*)(int)>(::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), "cuFakeReset"));
  std::lock_guard lock(state().mutex);
  for (auto& [host, registered] : state().functions) {
    registered.kernel = nullptr;
    registered.binary->library = nullptr;
  }
  primary = nullptr;
  return reset(0);
}
