// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda_handles.h"

#include "recorder/cuda_runtime.h"

namespace mneme::record::cuda {
namespace {

constinit Next<Result(const char**, Function)> next_name(kDriver, "cuFuncGetName");
constinit Next<Result(Module*, Function)> next_module(kDriver, "cuFuncGetModule");
constinit Next<Result(Function*, Kernel)> next_function(kDriver, "cuKernelGetFunction");

const void* host_function(Function function) {
  const char* name = nullptr;
  Module module = nullptr;
  if (next_name.call_or(kNotSupported, &name, function) != kSuccess || !name) return nullptr;
  if (next_module.call_or(kNotSupported, &module, function) != kSuccess) return nullptr;
  return runtime().host_function(module, name);
}

}  // namespace

// A library's kernel has a function in the module that the library is on this device.
const void* registered_function(const void* handle) {
  auto* function = const_cast<void*>(handle);
  if (const void* found = host_function(function)) return found;
  Function of_kernel = nullptr;
  const bool is_kernel = next_function.call_or(kNotSupported, &of_kernel, function) == kSuccess;
  return is_kernel ? host_function(of_kernel) : nullptr;
}

const void* function_of(const void* handle) {
  if (std::optional<const void*> known = Handles::all().find(handle)) return *known;
  Core* core = recorder();
  if (!core || !handle || core->knows(handle)) return handle;
  const void* found = registered_function(handle);
  Handles::all().add(handle, found ? found : handle);
  return found ? found : handle;
}

}  // namespace mneme::record::cuda
