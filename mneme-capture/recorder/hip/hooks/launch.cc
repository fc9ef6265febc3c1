// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The HIP functions through which device code is registered and launched, as the application finds them first.
#include <cstring>

#include "annotate/mneme/MnemeAnnotation.hpp"
#include "recorder/core/memory_hooks.h"
#include "recorder/hip/launch.h"

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
constinit Next<void(void*, void*, char*, const char*, int, size_t, int, int)> next_register_variable(
    kLibrary, "__hipRegisterVar");
constinit Next<void(void*, void*, char*, const char*, int, int, int)> next_register_texture(kLibrary,
                                                                                            "__hipRegisterTexture");
constinit Next<void(void*, void*, char*, const char*, int, int)> next_register_surface(kLibrary,
                                                                                       "__hipRegisterSurface");
constinit Next<void(void*, void**, void*, const char*, size_t, unsigned)> next_register_managed(
    kLibrary, "__hipRegisterManagedVar");

template <class Real>
Error launch(const void* function, Dimensions grid, Dimensions block, void** arguments, size_t shared, Stream stream,
             const Real& real, bool cooperative = false) {
  LaunchRequest request;
  request.function = function;
  request.grid = dimensions(grid);
  request.block = dimensions(block);
  request.shared_bytes = static_cast<uint32_t>(shared);
  request.arguments = {arguments, {}};
  request.stream = stream;
  request.cooperative = cooperative;
  return hip::launch(request, real);
}

template <class Real>
Error pass(const std::string& kernel, const char* reason, const Real& real) {
  Core* recorder = core();
  return recorder ? recorder->pass(kernel, reason, real) : real();
}

// What the vendor does for a managed variable, in memory that is recorded.
bool adopt_managed(void* handle, void** pointer, const void* initial, const char* name, size_t size) {
  void* memory = nullptr;
  auto none = [] { return kNotSupported; };
  if (give(core(), &memory, size, Space::kHost, kAttachGlobal | kManaged, none) != kSuccess) return false;
  std::memcpy(memory, initial, size);
  if (!runtime().lead_to(handle, name, memory)) {
    core()->release(memory);
    return false;
  }
  *pointer = memory;
  return true;
}

// The stand-in does what is more than a launch by calling the functions here for each kernel of it.
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
    if (known && !runtime().is_stand_in()) runtime().add_fat_binary(handle, wrapper->data);
  }
  return handle;
}

void __hipUnregisterFatBinary(void* handle) {
  if (Core* recorder = core()) {
    recorder->remove_fat_binary(handle);
    for (const MemoryRange& variable : runtime().remove_code(handle)) {
      recorder->remove_mapped(reinterpret_cast<void*>(variable.address), variable.size);
    }
  }
  next_unregister_binary.call(handle);
}

void __hipRegisterFunction(void* handle, const void* function, char* device_function, const char* name,
                           unsigned threads, void* thread, void* block, void* block_dimensions, void* grid_dimensions,
                           int* warp_size) {
  next_register_function.call(handle, function, device_function, name, threads, thread, block, block_dimensions,
                              grid_dimensions, warp_size);
  if (Core* recorder = core()) recorder->add_stub(handle, function, name);
}

void __hipRegisterVar(void* handle, void* variable, char* host_name, const char* name, int external, size_t size,
                      int constant, int global) {
  next_register_variable.call(handle, variable, host_name, name, external, size, constant, global);
  if (core() && !runtime().is_stand_in()) runtime().add_variable(handle, variable, name);
}

void __hipRegisterTexture(void* handle, void* variable, char* host_name, const char* name, int type, int normalized,
                          int external) {
  next_register_texture.call(handle, variable, host_name, name, type, normalized, external);
  if (core() && !runtime().is_stand_in()) runtime().add_reference(handle, name);
}

void __hipRegisterSurface(void* handle, void* variable, char* host_name, const char* name, int type, int external) {
  next_register_surface.call(handle, variable, host_name, name, type, external);
  if (core() && !runtime().is_stand_in()) runtime().add_reference(handle, name);
}

void __hipRegisterManagedVar(void* handle, void** pointer, void* initial, const char* name, size_t size,
                             unsigned alignment) {
  const bool adopts = core() && !runtime().is_stand_in();
  if (adopts && adopt_managed(handle, pointer, initial, name, size)) return;
  next_register_managed.call(handle, pointer, initial, name, size, alignment);
  if (adopts) runtime().add_managed_variable(handle, name);
}

Error hipLaunchKernel(const void* function, Dimensions grid, Dimensions block, void** arguments, size_t shared,
                      Stream stream) {
  return launch(function, grid, block, arguments, shared, stream,
                [&] { return next_launch.call_or(kNotSupported, function, grid, block, arguments, shared, stream); });
}

Error hipLaunchKernel_spt(const void* function, Dimensions grid, Dimensions block, void** arguments, size_t shared,
                          Stream stream) {
  return launch(function, grid, block, arguments, shared, per_thread(stream), [&] {
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
  auto real = [&] { return next_cooperative.call_or(kNotSupported, function, grid, block, arguments, shared, stream); };
  return launch(function, grid, block, arguments, shared, stream, real, true);
}

Error hipLaunchCooperativeKernel_spt(const void* function, Dimensions grid, Dimensions block, void** arguments,
                                     unsigned shared, Stream stream) {
  auto real = [&] {
    return next_cooperative_spt.call_or(kNotSupported, function, grid, block, arguments, shared, stream);
  };
  return launch(function, grid, block, arguments, shared, per_thread(stream), real, true);
}

Error hipLaunchCooperativeKernelMultiDevice(LaunchParameters* launches, int devices, unsigned flags) {
  auto real = [&] { return next_cooperative_multi.call_or(kNotSupported, launches, devices, flags); };
  return runtime().is_stand_in() ? real() : pass("(several devices)", kSeveralDevices, real);
}

Error hipExtLaunchMultiKernelMultiDevice(LaunchParameters* launches, int devices, unsigned flags) {
  auto real = [&] { return next_multi.call_or(kNotSupported, launches, devices, flags); };
  return runtime().is_stand_in() ? real() : pass("(several devices)", kSeveralDevices, real);
}

void mneme_annotate_v1(const void* pointer, const mneme_annotation_v1* annotation) {
  Core* recorder = core();
  if (recorder) recorder->annotate(pointer, annotation);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::hip
