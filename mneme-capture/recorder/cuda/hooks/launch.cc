// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of CUDA's runtime and of its driver through which device code is registered and launched. With the
// stand-in they pass everything on: what it calls is recorded.
#include "recorder/cuda/handles.h"
#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {
namespace {

template <bool cooperative = false>
Status launch_kernel(CudaRuntime& runtime, const Real& real, const void* function, Dimensions grid, Dimensions block,
                     void** arguments, size_t shared, Stream stream) {
  LaunchRequest request = request_of(function, grid, block, shared, stream, {arguments, {}});
  request.cooperative = cooperative;
  return launch(runtime, request, real);
}

Status launch_handle(CudaRuntime& runtime, const Real& real, Kernel kernel, Dimensions grid, Dimensions block,
                     void** arguments, size_t shared, Stream stream) {
  return launch_kernel(runtime, real, function_of(kernel), grid, block, arguments, shared, stream);
}

// By the driver.
Status launch_function(CudaRuntime& runtime, const Real& real, Function function, unsigned grid_x, unsigned grid_y,
                       unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                       Stream stream, void** arguments, void** extra) {
  return launch(runtime,
                request_of(function_of(function), {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream,
                           arguments_of(arguments, extra, kParameterEnd)),
                real);
}
Status launch_together(CudaRuntime& runtime, const Real& real, Function function, unsigned grid_x, unsigned grid_y,
                       unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                       Stream stream, void** arguments) {
  return launch_kernel<true>(runtime, real, function_of(function), {grid_x, grid_y, grid_z},
                             {block_x, block_y, block_z}, arguments, shared, stream);
}

// With attributes, of which some decide what the kernel does; others are about when it runs.
template <class Config>
Status launch_with(const Real& real, const Config& config, Stream stream, const void* function,
                   const Arguments& arguments) {
  LaunchRequest request = request_of(function, config.grid, config.block, config.shared, stream, arguments);
  for (unsigned i = 0; config.attributes && i < config.count; ++i) {
    const auto& [which, padding, value] = config.attributes[i];
    if (which == kLaunchCooperative) request.cooperative = value[0] != 0;
    if (which == kLaunchClusterDimension) request.cluster = {value[0], value[1], value[2]};
  }
  request.attributes = config.attributes;
  request.attribute_count = config.attributes ? config.count : 0;
  return launch(runtime(), request, real);
}
template <bool by_thread>
Status launch_ex(CudaRuntime&, const Real& real, const LaunchConfig* config, const void* function, void** arguments) {
  if (!config) return real();
  return launch_with(real, *config, by_thread ? per_thread(config->stream) : config->stream, function, {arguments, {}});
}
template <bool by_thread>
Status launch_driver_ex(CudaRuntime&, const Real& real, const DriverLaunchConfig* config, Function function,
                        void** arguments, void** extra) {
  if (!config) return real();
  return launch_with(real, *config, by_thread ? per_thread(config->stream) : config->stream, function_of(function),
                     arguments_of(arguments, extra, kParameterEnd));
}

// A handle of the kernel's, that the runtime gives out.
Status get_handle(CudaRuntime& runtime, const Real& real, void** handle, const void* function) {
  const Status status = real();
  if (runtime.recorder() && status == kSuccess) Handles::all().add(*handle, function);
  return status;
}

}  // namespace

HOOKED void** __cudaRegisterFatBinary(const FatBinaryWrapper* wrapper) {
  NEXT(__cudaRegisterFatBinary);
  runtime().start();
  void** handle = next(wrapper);
  if (Core* core = recorder()) {
    bool known = wrapper && wrapper->magic == kWrapperMagic;
    core->add_fat_binary(handle, known ? wrapper->data : nullptr);
  }
  return handle;
}

HOOKED void __cudaUnregisterFatBinary(void** handle) {
  NEXT(__cudaUnregisterFatBinary);
  forget_code(runtime(), handle);
  next(handle);
}

HOOKED void __cudaRegisterFunction(void** handle, const char* function, char* device_function, const char* name,
                                   int threads, void* thread, void* block, void* block_dimensions,
                                   void* grid_dimensions, int* warp_size) {
  NEXT(__cudaRegisterFunction);
  next(handle, function, device_function, name, threads, thread, block, block_dimensions, grid_dimensions, warp_size);
  if (Core* core = recorder()) {
    core->add_stub(handle, function, name);
    runtime().add_kernel(handle, function, name);
  }
}

HOOKED void __cudaRegisterVar(void** handle, char* variable, char* device_variable, const char* name, int external,
                              size_t size, int constant, int global) {
  NEXT(__cudaRegisterVar);
  next(handle, variable, device_variable, name, external, size, constant, global);
  if (recorder()) runtime().add_variable(handle, variable, name);
}

HOOK_PTSZ(launch_kernel<>, cudaLaunchKernel, const void*, Dimensions, Dimensions, void**, size_t, Stream)
HOOK_PTSZ(launch_kernel<true>, cudaLaunchCooperativeKernel, const void*, Dimensions, Dimensions, void**, size_t, Stream)
HOOK_PTSZ(launch_handle, __cudaLaunchKernel, Kernel, Dimensions, Dimensions, void**, size_t, Stream)
HOOK_PTSZ(launch_function, cuLaunchKernel, Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
          unsigned, Stream, void**, void**)
HOOK_PTSZ(launch_together, cuLaunchCooperativeKernel, Function, unsigned, unsigned, unsigned, unsigned, unsigned,
          unsigned, unsigned, Stream, void**)
HOOK(launch_ex<false>, cudaLaunchKernelExC, const LaunchConfig*, const void*, void**)
HOOK(launch_ex<true>, cudaLaunchKernelExC_ptsz, const LaunchConfig*, const void*, void**)
HOOK(launch_driver_ex<false>, cuLaunchKernelEx, const DriverLaunchConfig*, Function, void**, void**)
HOOK(launch_driver_ex<true>, cuLaunchKernelEx_ptsz, const DriverLaunchConfig*, Function, void**, void**)

HOOK(get_handle, __cudaGetKernel, Kernel*, const void*)
HOOK(get_handle, cudaGetKernel, Kernel*, const void*)
HOOK(get_handle, cudaGetFuncBySymbol, Function*, const void*)

}  // namespace mneme::record::cuda
