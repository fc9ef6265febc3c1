// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The CUDA functions through which device code is registered and launched, as the application finds them first. With
// the stand-in they pass everything on: what it calls is recorded.
#include "recorder/cuda_handles.h"
#include "recorder/cuda_launch.h"

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
constinit Next<Error(const LaunchConfig*, const void*, void**)> next_launch_ex_ptsz(kLibrary,
                                                                                    "cudaLaunchKernelExC_ptsz");
constinit Next<Error(const void*, Dimensions, Dimensions, void**, size_t, Stream)> next_cooperative(
    kLibrary, "cudaLaunchCooperativeKernel");
constinit Next<Error(const void*, Dimensions, Dimensions, void**, size_t, Stream)> next_cooperative_ptsz(
    kLibrary, "cudaLaunchCooperativeKernel_ptsz");
constinit Next<Error(Kernel*, const void*)> next_get_kernel(kLibrary, "__cudaGetKernel");
constinit Next<Error(Kernel*, const void*)> next_kernel_of(kLibrary, "cudaGetKernel");
constinit Next<Error(Function*, const void*)> next_function_of(kLibrary, "cudaGetFuncBySymbol");
constinit Next<Error(Kernel, Dimensions, Dimensions, void**, size_t, Stream)> next_launch_kernel(kLibrary,
                                                                                                 "__cudaLaunchKernel");
constinit Next<Error(Kernel, Dimensions, Dimensions, void**, size_t, Stream)> next_launch_kernel_ptsz(
    kLibrary, "__cudaLaunchKernel_ptsz");

template <class Next>
Error launch_with(const LaunchConfig* config, const void* function, void** arguments, bool of_thread,
                  const Next& next) {
  auto real = [&] { return next.call_or(kNotSupported, config, function, arguments); };
  if (!config) return real();
  Stream stream = of_thread ? per_thread(config->stream) : config->stream;
  LaunchRequest request = request_of(function, config->grid, config->block, arguments, config->shared, stream);
  add_attributes(request, config->attributes, config->count);
  return launch(request, real);
}

template <class Real>
Error launch_cooperative(LaunchRequest request, const Real& real) {
  request.cooperative = true;
  return launch(request, real);
}

Error stand_for(Error status, void* const* handle, const void* function) {
  if (recorder() && status == kSuccess) Handles::all().add(*handle, function);
  return status;
}

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
  if (Core* core = recorder()) {
    core->add_stub(handle, function, name);
    runtime().add_kernel(handle, function, name);
  }
}

void __cudaRegisterVar(void** handle, char* variable, char* device_variable, const char* name, int external,
                       size_t size, int constant, int global) {
  next_register_variable.call(handle, variable, device_variable, name, external, size, constant, global);
  if (recorder()) runtime().add_variable(handle, variable, name);
}

Error cudaLaunchKernel(const void* function, Dimensions grid, Dimensions block, void** arguments, size_t shared,
                       Stream stream) {
  return launch(request_of(function, grid, block, arguments, shared, stream),
                [&] { return next_launch.call_or(kNotSupported, function, grid, block, arguments, shared, stream); });
}

Error cudaLaunchKernel_ptsz(const void* function, Dimensions grid, Dimensions block, void** arguments, size_t shared,
                            Stream stream) {
  return launch(request_of(function, grid, block, arguments, shared, per_thread(stream)), [&] {
    return next_launch_ptsz.call_or(kNotSupported, function, grid, block, arguments, shared, stream);
  });
}

Error cudaLaunchKernelExC(const LaunchConfig* config, const void* function, void** arguments) {
  return launch_with(config, function, arguments, false, next_launch_ex);
}

Error cudaLaunchKernelExC_ptsz(const LaunchConfig* config, const void* function, void** arguments) {
  return launch_with(config, function, arguments, true, next_launch_ex_ptsz);
}

Error cudaLaunchCooperativeKernel(const void* function, Dimensions grid, Dimensions block, void** arguments,
                                  size_t shared, Stream stream) {
  return launch_cooperative(request_of(function, grid, block, arguments, shared, stream), [&] {
    return next_cooperative.call_or(kNotSupported, function, grid, block, arguments, shared, stream);
  });
}

Error cudaLaunchCooperativeKernel_ptsz(const void* function, Dimensions grid, Dimensions block, void** arguments,
                                       size_t shared, Stream stream) {
  return launch_cooperative(request_of(function, grid, block, arguments, shared, per_thread(stream)), [&] {
    return next_cooperative_ptsz.call_or(kNotSupported, function, grid, block, arguments, shared, stream);
  });
}

Error __cudaGetKernel(Kernel* kernel, const void* function) {
  return stand_for(next_get_kernel.call_or(kNotSupported, kernel, function), kernel, function);
}

Error cudaGetKernel(Kernel* kernel, const void* function) {
  return stand_for(next_kernel_of.call_or(kNotSupported, kernel, function), kernel, function);
}

Error cudaGetFuncBySymbol(Function* handle, const void* function) {
  return stand_for(next_function_of.call_or(kNotSupported, handle, function), handle, function);
}

Error __cudaLaunchKernel(Kernel kernel, Dimensions grid, Dimensions block, void** arguments, size_t shared,
                         Stream stream) {
  return launch(request_of(function_of(kernel), grid, block, arguments, shared, stream), [&] {
    return next_launch_kernel.call_or(kNotSupported, kernel, grid, block, arguments, shared, stream);
  });
}

Error __cudaLaunchKernel_ptsz(Kernel kernel, Dimensions grid, Dimensions block, void** arguments, size_t shared,
                              Stream stream) {
  return launch(request_of(function_of(kernel), grid, block, arguments, shared, per_thread(stream)), [&] {
    return next_launch_kernel_ptsz.call_or(kNotSupported, kernel, grid, block, arguments, shared, stream);
  });
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::cuda
