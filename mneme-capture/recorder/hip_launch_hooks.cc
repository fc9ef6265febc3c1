// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The HIP functions through which device code is registered and launched, as the application finds them first.
#include "annotate/mneme/MnemeAnnotation.hpp"
#include "recorder/hip_runtime.h"

namespace mneme::record::hip {
namespace {

constinit Next<void*(const void*)> next_register_binary(kLibrary, "__hipRegisterFatBinary");
constinit Next<void(void*)> next_unregister_binary(kLibrary, "__hipUnregisterFatBinary");
constinit Next<void(void*, const void*, char*, const char*, unsigned, void*, void*, void*, void*, int*)>
    next_register_function(kLibrary, "__hipRegisterFunction");
constinit Next<Error(const void*, Dimensions, Dimensions, void**, size_t, Stream)> next_launch(kLibrary,
                                                                                               "hipLaunchKernel");
constinit Next<Error(const void*, Dimensions, Dimensions, void**, size_t, Stream)> next_launch_spt(
    kLibrary, "hipLaunchKernel_spt");
constinit Next<Error(const void*, Dimensions, Dimensions, void**, size_t, Stream, Event, Event, int)> next_launch_ext(
    kLibrary, "hipExtLaunchKernel");
constinit Next<Error(const void*, Dimensions, Dimensions, void**, unsigned, Stream)> next_cooperative(
    kLibrary, "hipLaunchCooperativeKernel");
constinit Next<Error(const void*, Dimensions, Dimensions, void**, unsigned, Stream)> next_cooperative_spt(
    kLibrary, "hipLaunchCooperativeKernel_spt");
constinit Next<Error(LaunchParameters*, int, unsigned)> next_cooperative_multi(kLibrary,
                                                                               "hipLaunchCooperativeKernelMultiDevice");
constinit Next<Error(LaunchParameters*, int, unsigned)> next_multi(kLibrary, "hipExtLaunchMultiKernelMultiDevice");
constinit Next<Error(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**,
                     void**)>
    next_module_launch(kLibrary, "hipModuleLaunchKernel");
constinit Next<const char*(Function)> next_function_name(kLibrary, "hipKernelNameRef");
constinit Next<Error(void*, Stream)> next_graph_launch(kLibrary, "hipGraphLaunch");
constinit Next<Error(Stream, int)> next_begin_capture(kLibrary, "hipStreamBeginCapture");

bundle::Dim3 dimensions(Dimensions d) { return {d.x, d.y, d.z}; }

template <class Real>
Error launch(const void* function, Dimensions grid, Dimensions block, void** arguments, size_t shared, Stream stream,
             const Real& real) {
  Core* recorder = core();
  if (!recorder) return real();
  LaunchRequest request;
  request.function = function;
  request.grid = dimensions(grid);
  request.block = dimensions(block);
  request.shared_bytes = static_cast<uint32_t>(shared);
  request.arguments = arguments;
  request.stream = stream;
  return recorder->launch(request, real);
}

template <class Real>
Error pass(const std::string& kernel, const char* reason, const Real& real) {
  Core* recorder = core();
  return recorder ? recorder->pass(kernel, reason, real) : real();
}

template <class Real>
Error pass_function(const void* function, const char* reason, const Real& real) {
  Core* recorder = core();
  return recorder ? recorder->pass(recorder->kernel_name(function), reason, real) : real();
}

constexpr char kCooperative[] = "cooperative launches are not recorded";
constexpr char kSeveralDevices[] = "launches on several devices are not recorded";

}  // namespace

// The recorder's only exported names: those of the application's calls.
#pragma GCC visibility push(default)
extern "C" {

void* __hipRegisterFatBinary(const FatBinaryWrapper* wrapper) {
  start();
  void* handle = next_register_binary.call_or(nullptr, wrapper);
  if (Core* recorder = core()) {
    bool known = wrapper && wrapper->magic == kWrapperMagic;
    recorder->add_fat_binary(handle, known ? wrapper->data : nullptr);
  }
  return handle;
}

void __hipUnregisterFatBinary(void* handle) {
  if (Core* recorder = core()) recorder->remove_fat_binary(handle);
  next_unregister_binary.call(handle);
}

void __hipRegisterFunction(void* handle, const void* function, char* device_function, const char* name,
                           unsigned threads, void* thread, void* block, void* block_dimensions, void* grid_dimensions,
                           int* warp_size) {
  next_register_function.call(handle, function, device_function, name, threads, thread, block, block_dimensions,
                              grid_dimensions, warp_size);
  if (Core* recorder = core()) recorder->add_stub(handle, function, name);
}

Error hipLaunchKernel(const void* function, Dimensions grid, Dimensions block, void** arguments, size_t shared,
                      Stream stream) {
  return launch(function, grid, block, arguments, shared, stream,
                [&] { return next_launch.call_or(kNotSupported, function, grid, block, arguments, shared, stream); });
}

Error hipLaunchKernel_spt(const void* function, Dimensions grid, Dimensions block, void** arguments, size_t shared,
                          Stream stream) {
  return launch(function, grid, block, arguments, shared, stream, [&] {
    return next_launch_spt.call_or(kNotSupported, function, grid, block, arguments, shared, stream);
  });
}

Error hipExtLaunchKernel(const void* function, Dimensions grid, Dimensions block, void** arguments, size_t shared,
                         Stream stream, Event begin, Event end, int flags) {
  return launch(function, grid, block, arguments, shared, stream, [&] {
    return next_launch_ext.call_or(kNotSupported, function, grid, block, arguments, shared, stream, begin, end, flags);
  });
}

Error hipLaunchCooperativeKernel(const void* function, Dimensions grid, Dimensions block, void** arguments,
                                 unsigned shared, Stream stream) {
  return pass_function(function, kCooperative, [&] {
    return next_cooperative.call_or(kNotSupported, function, grid, block, arguments, shared, stream);
  });
}

Error hipLaunchCooperativeKernel_spt(const void* function, Dimensions grid, Dimensions block, void** arguments,
                                     unsigned shared, Stream stream) {
  return pass_function(function, kCooperative, [&] {
    return next_cooperative_spt.call_or(kNotSupported, function, grid, block, arguments, shared, stream);
  });
}

Error hipLaunchCooperativeKernelMultiDevice(LaunchParameters* launches, int devices, unsigned flags) {
  return pass("(several devices)", kSeveralDevices,
              [&] { return next_cooperative_multi.call_or(kNotSupported, launches, devices, flags); });
}

Error hipExtLaunchMultiKernelMultiDevice(LaunchParameters* launches, int devices, unsigned flags) {
  return pass("(several devices)", kSeveralDevices,
              [&] { return next_multi.call_or(kNotSupported, launches, devices, flags); });
}

Error hipModuleLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                            unsigned block_y, unsigned block_z, unsigned shared, Stream stream, void** arguments,
                            void** extra) {
  const char* name = core() ? next_function_name.call_or(nullptr, function) : nullptr;
  return pass(name ? demangle(name) : "(module function)", "kernels of modules loaded at run time are not recorded",
              [&] {
                return next_module_launch.call_or(kNotSupported, function, grid_x, grid_y, grid_z, block_x, block_y,
                                                  block_z, shared, stream, arguments, extra);
              });
}

Error hipGraphLaunch(void* graph, Stream stream) {
  return pass("(graph)", "kernels of graphs are not recorded",
              [&] { return next_graph_launch.call_or(kNotSupported, graph, stream); });
}

Error hipStreamBeginCapture(Stream stream, int mode) {
  runtime().captures_streams.store(true);
  return next_begin_capture.call_or(kNotSupported, stream, mode);
}

void mneme_annotate_v1(const void* pointer, const mneme_annotation_v1* annotation) {
  Core* recorder = core();
  if (recorder && annotation) recorder->annotate(pointer, *annotation);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::hip
