// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The HIP functions through which device code is registered, loaded at run time, and launched.
#include <cstring>

#include "annotate/mneme/MnemeAnnotation.hpp"
#include "base/file.h"
#include "recorder/core/memory_hooks.h"
#include "recorder/hip/runtime.h"

// What <hip/hip_ext.h> declares has C++ names.
struct ihipModuleSymbol_t;
struct ihipStream_t;
struct ihipEvent_t;
[[gnu::visibility("default")]] int hipExtModuleLaunchKernel(ihipModuleSymbol_t* function, uint32_t x, uint32_t y,
                                                            uint32_t z, uint32_t block_x, uint32_t block_y,
                                                            uint32_t block_z, size_t shared, ihipStream_t* stream,
                                                            void** arguments, void** extra, ihipEvent_t* start,
                                                            ihipEvent_t* stop, uint32_t flags);

namespace mneme::record::hip {
namespace {

template <bool cooperative = false>
Status launch_kernel(HipRuntime& runtime, const Real& real, const void* function, Dimensions grid, Dimensions block,
                     void** arguments, size_t shared, Stream stream, ...) {
  LaunchRequest request = request_of(function, grid, block, shared, stream, {arguments, {}});
  request.cooperative = cooperative;
  return launch(runtime, request, real);
}

Status launch_between(HipRuntime& runtime, const Real& real, const void* function, Dimensions grid, Dimensions block,
                      void** arguments, size_t shared, Stream stream, Event start, Event stop, int) {
  LaunchRequest request = request_of(function, grid, block, shared, stream, {arguments, {}});
  request.start = start;
  request.stop = stop;
  return launch(runtime, request, real);
}

Status launch_function(HipRuntime& runtime, const Real& real, Function function, unsigned grid_x, unsigned grid_y,
                       unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                       Stream stream, void** arguments, void** extra) {
  return launch(runtime,
                request_of(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream,
                           arguments_of(arguments, extra, kParameterEnd)),
                real);
}
Status launch_together(HipRuntime& runtime, const Real& real, Function function, unsigned grid_x, unsigned grid_y,
                       unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                       Stream stream, void** arguments) {
  return launch_kernel<true>(runtime, real, function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, arguments,
                             shared, stream);
}

// The stand-in does what is more than a launch by calling the functions here for each kernel of it.
Status launch_on_several(HipRuntime& runtime, const Real& real, ...) {
  Core* core = runtime.gpu_recorder();
  return core ? core->pass("(several devices)", "launches on several devices are not recorded", real) : real();
}

// What the vendor does for a managed variable, in memory that is recorded.
bool adopt_managed(void* handle, void** pointer, const void* initial, const char* name, size_t size) {
  void* memory = nullptr;
  auto none = [] { return kNotSupported; };
  if (give(runtime(), none, &memory, size, Space::kHost, kAttachGlobal | kManaged) != kSuccess) return false;
  std::memcpy(memory, initial, size);
  if (!runtime().lead_to(handle, name, memory)) {
    core()->release(memory);
    return false;
  }
  *pointer = memory;
  return true;
}

// A module has been loaded, of which `bytes` gives a copy.
template <class Bytes>
Status loaded(HipRuntime& runtime, Status status, Module* module, const Bytes& bytes) {
  Core* core = runtime.recorder();
  if (!core || status != kSuccess) return status;
  if (!runtime.is_stand_in()) runtime.add_module(*module);
  try {
    core->add_module(*module, bytes());
  } catch (const std::exception&) {
    core->add_fat_binary(*module, nullptr);  // its kernels will be counted as not recordable
  }
  return status;
}
Status load_file(HipRuntime& runtime, const Real& real, Module* module, const char* path) {
  runtime.start();
  return loaded(runtime, real(), module, [&] { return read_file(path); });
}
Status load_image(HipRuntime& runtime, const Real& real, Module* module, const void* image, ...) {
  runtime.start();
  return loaded(runtime, real(), module, [&] {
    const auto* bytes = static_cast<const std::byte*>(image);
    return std::string(reinterpret_cast<const char*>(bytes), objects::size_of_image(bytes, "a module"));
  });
}
Status unload(HipRuntime& runtime, const Real& real, Module module) {
  const Status status = real();
  if (status != kSuccess) return status;
  forget_code(runtime, module);
  unload_variants(runtime, module);
  return status;
}
Status get_function(HipRuntime& runtime, const Real& real, Function* function, Module module, const char* name) {
  const Status status = real();
  if (Core* core = runtime.recorder(); core && status == kSuccess) core->add_stub(module, *function, name);
  return status;
}

}  // namespace

HOOKED void* __hipRegisterFatBinary(const FatBinaryWrapper* wrapper) {
  NEXT(__hipRegisterFatBinary);
  runtime().start();
  void* handle = next(wrapper);
  if (Core* recorder = core()) {
    bool known = wrapper && wrapper->magic == kWrapperMagic;
    recorder->add_fat_binary(handle, known ? wrapper->data : nullptr);
    if (known && !runtime().is_stand_in()) runtime().add_fat_binary(handle, wrapper->data);
  }
  return handle;
}

HOOKED void __hipUnregisterFatBinary(void* handle) {
  NEXT(__hipUnregisterFatBinary);
  forget_code(runtime(), handle);
  next(handle);
}

HOOKED void __hipRegisterFunction(void* handle, const void* function, char* device_function, const char* name,
                                  unsigned threads, void* thread, void* block, void* block_dimensions,
                                  void* grid_dimensions, int* warp_size) {
  NEXT(__hipRegisterFunction);
  next(handle, function, device_function, name, threads, thread, block, block_dimensions, grid_dimensions, warp_size);
  if (Core* recorder = core()) recorder->add_stub(handle, function, name);
}

HOOKED void __hipRegisterVar(void* handle, void* variable, char* host_name, const char* name, int external, size_t size,
                             int constant, int global) {
  NEXT(__hipRegisterVar);
  next(handle, variable, host_name, name, external, size, constant, global);
  if (runtime().gpu_recorder()) runtime().add_variable(handle, variable, name);
}

HOOKED void __hipRegisterTexture(void* handle, void* variable, char* host_name, const char* name, int type,
                                 int normalized, int external) {
  NEXT(__hipRegisterTexture);
  next(handle, variable, host_name, name, type, normalized, external);
  if (runtime().gpu_recorder()) runtime().add_reference(handle, name);
}

HOOKED void __hipRegisterSurface(void* handle, void* variable, char* host_name, const char* name, int type,
                                 int external) {
  NEXT(__hipRegisterSurface);
  next(handle, variable, host_name, name, type, external);
  if (runtime().gpu_recorder()) runtime().add_reference(handle, name);
}

HOOKED void __hipRegisterManagedVar(void* handle, void** pointer, void* initial, const char* name, size_t size,
                                    unsigned alignment) {
  NEXT(__hipRegisterManagedVar);
  const bool adopts = runtime().gpu_recorder();
  if (adopts && adopt_managed(handle, pointer, initial, name, size)) return;
  next(handle, pointer, initial, name, size, alignment);
  if (adopts) runtime().add_managed_variable(handle, name);
}

HOOK_SPT(launch_kernel<>, hipLaunchKernel, const void*, Dimensions, Dimensions, void**, size_t, Stream)
HOOK(launch_between, hipExtLaunchKernel, const void*, Dimensions, Dimensions, void**, size_t, Stream, Event, Event, int)
HOOK_SPT(launch_kernel<true>, hipLaunchCooperativeKernel, const void*, Dimensions, Dimensions, void**, unsigned, Stream)
HOOK(launch_on_several, hipLaunchCooperativeKernelMultiDevice, LaunchParameters*, int, unsigned)
HOOK(launch_on_several, hipExtLaunchMultiKernelMultiDevice, LaunchParameters*, int, unsigned)

HOOK(load_file, hipModuleLoad, Module*, const char*)
HOOK(load_image, hipModuleLoadData, Module*, const void*)
HOOK(load_image, hipModuleLoadDataEx, Module*, const void*, unsigned, int*, void**)
HOOK(unload, hipModuleUnload, Module)
HOOK(get_function, hipModuleGetFunction, Function*, Module, const char*)
HOOK(launch_function, hipModuleLaunchKernel, Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
     unsigned, Stream, void**, void**)
HOOK(launch_together, hipModuleLaunchCooperativeKernel, Function, unsigned, unsigned, unsigned, unsigned, unsigned,
     unsigned, unsigned, Stream, void**)

HOOKED void mneme_annotate_v1(const void* pointer, const mneme_annotation_v1* annotation) {
  if (Core* recorder = core()) recorder->annotate(pointer, annotation);
}

// memory/listing.h
HOOKED bool mneme_record_is_in_launch() { return !core() || Core::is_in_launch(); }

HOOKED bool mneme_record_count_launch(const char* kernel) {
  Core* recorder = core();
  if (!recorder) return false;
  recorder->pass(kernel,
                 "it was launched from a namespace of the loader's own (dlmopen), which the recorder does not see",
                 [] { return kSuccess; });
  return true;
}

}  // namespace mneme::record::hip

// Sizes are in work-items; what does not divide is the runtime's to judge.
int hipExtModuleLaunchKernel(ihipModuleSymbol_t* function, uint32_t x, uint32_t y, uint32_t z, uint32_t block_x,
                             uint32_t block_y, uint32_t block_z, size_t shared, ihipStream_t* stream, void** arguments,
                             void** extra, ihipEvent_t* start, ihipEvent_t* stop, uint32_t flags) {
  using namespace mneme::record::hip;
  static constinit const mneme::record::Next<decltype(hipExtModuleLaunchKernel)> next(
      kLibrary, "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j");
  auto real = [&] {
    return next(function, x, y, z, block_x, block_y, block_z, shared, stream, arguments, extra, start, stop, flags);
  };
  bool whole = block_x && block_y && block_z && x % block_x == 0 && y % block_y == 0 && z % block_z == 0;
  if (!whole) return real();
  mneme::record::LaunchRequest request = mneme::record::request_of(
      function, {x / block_x, y / block_y, z / block_z}, {block_x, block_y, block_z}, shared,
      reinterpret_cast<mneme::record::Stream>(stream), mneme::record::arguments_of(arguments, extra, kParameterEnd));
  request.start = start;
  request.stop = stop;
  return launch(runtime(), request, real);
}
