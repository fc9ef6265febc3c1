// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The CUDA functions through which device code is registered and launched, as the application finds them first. With
// the stand-in they pass everything on: what it calls is recorded.
#include "recorder/cuda_runtime.h"

namespace mneme::record::cuda {
namespace {

constinit Next<void**(const void*)> next_register_binary(kLibrary, "__cudaRegisterFatBinary");
constinit Next<void(void**)> next_unregister_binary(kLibrary, "__cudaUnregisterFatBinary");
constinit Next<void(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*)>
    next_register_function(kLibrary, "__cudaRegisterFunction");
constinit Next<void(void**, char*, char*, const char*, int, size_t, int, int)> next_register_variable(
    kLibrary, "__cudaRegisterVar");
constinit Next<Error(const void*, Dimensions, Dimensions, void**, size_t, Stream)> next_launch(kLibrary,
                                                                                               "cudaLaunchKernel");
constinit Next<Error(const void*, Dimensions, Dimensions, void**, size_t, Stream)> next_launch_ptsz(
    kLibrary, "cudaLaunchKernel_ptsz");
constinit Next<Error(const LaunchConfig*, const void*, void**)> next_launch_ex(kLibrary, "cudaLaunchKernelExC");
constinit Next<Error(const void*, Dimensions, Dimensions, void**, size_t, Stream)> next_cooperative(
    kLibrary, "cudaLaunchCooperativeKernel");
constinit Next<Error(Kernel*, const void*)> next_get_kernel(kLibrary, "__cudaGetKernel");
constinit Next<Error(Kernel, Dimensions, Dimensions, void**, size_t, Stream)> next_launch_kernel(kLibrary,
                                                                                                 "__cudaLaunchKernel");
constinit Next<Error(Graph, Stream)> next_graph_launch(kLibrary, "cudaGraphLaunch");
constinit Next<Error(Stream, int)> next_begin_capture(kLibrary, "cudaStreamBeginCapture");

bundle::Dim3 dimensions(Dimensions d) { return {d.x, d.y, d.z}; }

// Kernels' handles, which stand for host functions. Never destroyed.
class Handles {
 public:
  static Handles& all() {
    static auto* only = new Handles;
    return *only;
  }
  void add(Kernel kernel, const void* function) {
    std::lock_guard lock(mutex_);
    functions_[kernel] = function;
  }
  const void* function(Kernel kernel) {
    std::lock_guard lock(mutex_);
    auto found = functions_.find(kernel);
    return found == functions_.end() ? kernel : found->second;
  }

 private:
  std::mutex mutex_;
  std::map<Kernel, const void*> functions_;
};

template <class Real>
Error launch(const void* function, Dimensions grid, Dimensions block, void** arguments, size_t shared, Stream stream,
             const Real& real) {
  Core* core = recorder();
  if (!core) return real();
  LaunchRequest request;
  request.function = function;
  request.grid = dimensions(grid);
  request.block = dimensions(block);
  request.shared_bytes = static_cast<uint32_t>(shared);
  request.arguments = {arguments, {}};
  request.stream = stream;
  // A launch that has not ended when it should have is not recorded; to the application it is one like others.
  Error status = core->launch(request, real);
  return status == kNotReady ? kSuccess : status;
}

template <class Real>
Error pass(const void* function, const char* reason, const Real& real) {
  Core* core = recorder();
  return core ? core->pass(core->kernel_name(function), reason, real) : real();
}

constexpr char kCooperative[] = "cooperative launches are not recorded on a GPU";
constexpr char kClusters[] = "launches in clusters are not recorded";

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void** __cudaRegisterFatBinary(const FatBinaryWrapper* wrapper) {
  start();
  void** handle = next_register_binary.call_or(nullptr, wrapper);
  if (Core* core = recorder()) {
    bool known = wrapper && wrapper->magic == kWrapperMagic;
    core->add_fat_binary(handle, known ? wrapper->data : nullptr);
  }
  return handle;
}

void __cudaUnregisterFatBinary(void** handle) {
  if (Core* core = recorder()) {
    core->remove_fat_binary(handle);
    for (const MemoryRange& variable : runtime().remove_variables(handle)) {
      core->remove_mapped(reinterpret_cast<void*>(variable.address), variable.size);
    }
  }
  next_unregister_binary.call(handle);
}

void __cudaRegisterFunction(void** handle, const char* function, char* device_function, const char* name, int threads,
                            void* thread, void* block, void* block_dimensions, void* grid_dimensions, int* warp_size) {
  next_register_function.call(handle, function, device_function, name, threads, thread, block, block_dimensions,
                              grid_dimensions, warp_size);
  if (Core* core = recorder()) core->add_stub(handle, function, name);
}

void __cudaRegisterVar(void** handle, char* variable, char* device_variable, const char* name, int external,
                       size_t size, int constant, int global) {
  next_register_variable.call(handle, variable, device_variable, name, external, size, constant, global);
  if (recorder()) runtime().add_variable(handle, variable, name);
}

Error cudaLaunchKernel(const void* function, Dimensions grid, Dimensions block, void** arguments, size_t shared,
                       Stream stream) {
  return launch(function, grid, block, arguments, shared, stream,
                [&] { return next_launch.call_or(kNotSupported, function, grid, block, arguments, shared, stream); });
}

Error cudaLaunchKernel_ptsz(const void* function, Dimensions grid, Dimensions block, void** arguments, size_t shared,
                            Stream stream) {
  return launch(function, grid, block, arguments, shared, stream, [&] {
    return next_launch_ptsz.call_or(kNotSupported, function, grid, block, arguments, shared, stream);
  });
}

Error cudaLaunchKernelExC(const LaunchConfig* config, const void* function, void** arguments) {
  auto real = [&] { return next_launch_ex.call_or(kNotSupported, config, function, arguments); };
  if (!config) return real();
  for (unsigned i = 0; i < config->count && config->attributes; ++i) {
    const LaunchAttribute& attribute = config->attributes[i];
    if (attribute.which == kLaunchCooperative && attribute.value) return pass(function, kCooperative, real);
    if (attribute.which == kLaunchClusterDimension) return pass(function, kClusters, real);
  }
  return launch(function, config->grid, config->block, arguments, config->shared, config->stream, real);
}

Error cudaLaunchCooperativeKernel(const void* function, Dimensions grid, Dimensions block, void** arguments,
                                  size_t shared, Stream stream) {
  return pass(function, kCooperative, [&] {
    return next_cooperative.call_or(kNotSupported, function, grid, block, arguments, shared, stream);
  });
}

Error __cudaGetKernel(Kernel* kernel, const void* function) {
  Error status = next_get_kernel.call_or(kNotSupported, kernel, function);
  if (recorder() && status == kSuccess) Handles::all().add(*kernel, function);
  return status;
}

Error __cudaLaunchKernel(Kernel kernel, Dimensions grid, Dimensions block, void** arguments, size_t shared,
                         Stream stream) {
  auto real = [&] { return next_launch_kernel.call_or(kNotSupported, kernel, grid, block, arguments, shared, stream); };
  if (!recorder()) return real();
  return launch(Handles::all().function(kernel), grid, block, arguments, shared, stream, real);
}

Error cudaGraphLaunch(Graph graph, Stream stream) {
  auto real = [&] { return next_graph_launch.call_or(kNotSupported, graph, stream); };
  Core* core = recorder();
  return core ? core->pass("(graph)", "kernels of graphs are not recorded on a GPU", real) : real();
}

Error cudaStreamBeginCapture(Stream stream, int mode) {
  runtime().captures_streams.store(true);
  return next_begin_capture.call_or(kNotSupported, stream, mode);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::cuda
