// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda/handles.h"

#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {

CALL(Status, cuFuncGetName, const char**, Function)
CALL(Status, cuFuncGetModule, Module*, Function)
CALL(Status, cuKernelGetFunction, Function*, Kernel)
CALL(Status, cuKernelGetName, const char**, Kernel)
CALL(Status, cuKernelGetLibrary, Library*, Kernel)

namespace {

const void* host_function(Function function) {
  const char* name = nullptr;
  Module module = nullptr;
  if (next::cuFuncGetName(&name, function) != kSuccess || !name) return nullptr;
  if (next::cuFuncGetModule(&module, function) != kSuccess) return nullptr;
  return runtime().host_function(module, name);
}

}  // namespace

// A library's kernel has a function in the module that the library is on this device.
const void* registered_function(const void* handle) {
  auto* function = const_cast<void*>(handle);
  if (const void* found = host_function(function)) return found;
  Function of_kernel = nullptr;
  const bool is_kernel = next::cuKernelGetFunction(&of_kernel, function) == kSuccess;
  return is_kernel ? host_function(of_kernel) : nullptr;
}

void add_loaded_kernel(Core& core, void* code, void* kernel, const char* name) {
  Handles::all().add(kernel, kernel);
  runtime().add_function(kernel);
  runtime().add_kernel(code, kernel, name);
  core.add_stub(code, kernel, name);
}

namespace {

// A function or a kernel of code that the application loaded, of which the driver says what it is.
void add_unseen(Core& core, void* handle) {
  const char* name = nullptr;
  Module module = nullptr;
  Library library = nullptr;
  void* code = nullptr;
  if (next::cuFuncGetName(&name, handle) == kSuccess && name && next::cuFuncGetModule(&module, handle) == kSuccess) {
    code = runtime().code_of_module(module);
  } else if (next::cuKernelGetName(&name, handle) == kSuccess && name &&
             next::cuKernelGetLibrary(&library, handle) == kSuccess && runtime().has_code(library)) {
    code = library;
  }
  if (code) add_loaded_kernel(core, code, handle, name);
}

}  // namespace

const void* function_of(const void* handle) {
  if (std::optional<const void*> known = Handles::all().find(handle)) return *known;
  Core* core = recorder();
  if (!core || !handle || core->knows(handle)) return handle;
  const void* found = registered_function(handle);
  if (!found) add_unseen(*core, const_cast<void*>(handle));
  Handles::all().add(handle, found ? found : handle);
  return found ? found : handle;
}

}  // namespace mneme::record::cuda
