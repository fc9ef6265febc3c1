// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The HIP functions that load device code at run time and launch it, as the application finds them first.
#include "base/file.h"
#include "recorder/hip/launch.h"

// What <hip/hip_ext.h> declares has C++ names.
#pragma GCC visibility push(default)
struct ihipModuleSymbol_t;
struct ihipStream_t;
struct ihipEvent_t;
int hipExtModuleLaunchKernel(ihipModuleSymbol_t* function, uint32_t x, uint32_t y, uint32_t z, uint32_t block_x,
                             uint32_t block_y, uint32_t block_z, size_t shared, ihipStream_t* stream, void** arguments,
                             void** extra, ihipEvent_t* start, ihipEvent_t* stop, uint32_t flags);
#pragma GCC visibility pop

namespace mneme::record::hip {
namespace {

constinit Next<Error(Module*, const char*)> next_load(kLibrary, "hipModuleLoad");
constinit Next<Error(Module*, const void*)> next_load_data(kLibrary, "hipModuleLoadData");
constinit Next<Error(Module*, const void*, unsigned, int*, void**)> next_load_data_ex(kLibrary, "hipModuleLoadDataEx");
constinit Next<Error(Module)> next_unload(kLibrary, "hipModuleUnload");
constinit Next<Error(Function*, Module, const char*)> next_get_function(kLibrary, "hipModuleGetFunction");
constinit Next<Error(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**,
                     void**)>
    next_launch(kLibrary, "hipModuleLaunchKernel");
constinit Next<Error(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**)>
    next_launch_cooperative(kLibrary, "hipModuleLaunchCooperativeKernel");
constinit Next<Error(Function, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, size_t, Stream, void**,
                     void**, Event, Event, uint32_t)>
    next_launch_ext(kLibrary,
                    "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j");

void note(Module module) {
  if (!runtime().is_stand_in()) runtime().add_module(module);
}

void add_image(Module module, const void* image) {
  const auto* bytes = static_cast<const char*>(image);
  try {
    size_t size = objects::size_of_image(reinterpret_cast<const std::byte*>(bytes), "a module");
    core()->add_module(module, std::string(bytes, size));
  } catch (const std::exception&) {
    core()->add_fat_binary(module, nullptr);  // its kernels will be counted as not recordable
  }
}

template <class Real>
Error launch(Function function, bundle::Dim3 grid, bundle::Dim3 block, size_t shared, Stream stream, void** arguments,
             void** extra, const Real& real, bool cooperative = false) {
  LaunchRequest request;
  request.cooperative = cooperative;
  request.function = function;
  request.grid = grid;
  request.block = block;
  request.shared_bytes = static_cast<uint32_t>(shared);
  request.arguments = arguments_of(arguments, extra, kParameterEnd);
  request.stream = stream;
  return hip::launch(request, real);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Error hipModuleLoad(Module* module, const char* path) {
  start();
  Error status = next_load.call_or(kNotSupported, module, path);
  if (!core() || status != kSuccess) return status;
  note(*module);
  try {
    core()->add_module(*module, read_file(path));
  } catch (const std::exception&) {
    core()->add_fat_binary(*module, nullptr);
  }
  return status;
}

Error hipModuleLoadData(Module* module, const void* image) {
  start();
  Error status = next_load_data.call_or(kNotSupported, module, image);
  if (core() && status == kSuccess) {
    note(*module);
    add_image(*module, image);
  }
  return status;
}

Error hipModuleLoadDataEx(Module* module, const void* image, unsigned count, int* options, void** values) {
  start();
  Error status = next_load_data_ex.call_or(kNotSupported, module, image, count, options, values);
  if (core() && status == kSuccess) {
    note(*module);
    add_image(*module, image);
  }
  return status;
}

Error hipModuleUnload(Module module) {
  Error status = next_unload.call_or(kNotSupported, module);
  if (core() && status == kSuccess) {
    core()->remove_fat_binary(module);
    for (const MemoryRange& variable : runtime().remove_code(module)) {
      core()->remove_mapped(reinterpret_cast<void*>(variable.address), variable.size);
    }
  }
  return status;
}

Error hipModuleGetFunction(Function* function, Module module, const char* name) {
  Error status = next_get_function.call_or(kNotSupported, function, module, name);
  if (core() && status == kSuccess) core()->add_stub(module, *function, name);
  return status;
}

Error hipModuleLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                            unsigned block_y, unsigned block_z, unsigned shared, Stream stream, void** arguments,
                            void** extra) {
  return launch(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream, arguments, extra, [&] {
    return next_launch.call_or(kNotSupported, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
                               stream, arguments, extra);
  });
}

Error hipModuleLaunchCooperativeKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                                       Stream stream, void** arguments) {
  auto real = [&] {
    return next_launch_cooperative.call_or(kNotSupported, function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                           shared, stream, arguments);
  };
  return launch(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream, arguments, nullptr,
                real, true);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::hip

// Sizes are in work-items; what does not divide is the runtime's to judge.
int hipExtModuleLaunchKernel(ihipModuleSymbol_t* function, uint32_t x, uint32_t y, uint32_t z, uint32_t block_x,
                             uint32_t block_y, uint32_t block_z, size_t shared, ihipStream_t* stream, void** arguments,
                             void** extra, ihipEvent_t* start, ihipEvent_t* stop, uint32_t flags) {
  using namespace mneme::record::hip;
  auto real = [&] {
    return next_launch_ext.call_or(kNotSupported, function, x, y, z, block_x, block_y, block_z, shared, stream,
                                   arguments, extra, start, stop, flags);
  };
  bool whole = block_x && block_y && block_z && x % block_x == 0 && y % block_y == 0 && z % block_z == 0;
  if (!whole) return real();
  return launch(function, {x / block_x, y / block_y, z / block_z}, {block_x, block_y, block_z}, shared, stream,
                arguments, extra, real);
}
