// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of CUDA's driver that load device code at run time, as the application finds them first.
#include <algorithm>

#include "recorder/cuda_handles.h"
#include "recorder/cuda_loaded_code.h"

namespace mneme::record::cuda {
namespace {

constinit Next<Result(Module*, const char*)> next_load(kDriver, "cuModuleLoad");
constinit Next<Result(Module*, const void*)> next_load_data(kDriver, "cuModuleLoadData");
constinit Next<Result(Module*, const void*, unsigned, int*, void**)> next_load_data_ex(kDriver, "cuModuleLoadDataEx");
constinit Next<Result(Module*, const void*)> next_load_fat_binary(kDriver, "cuModuleLoadFatBinary");
constinit Next<Result(Module)> next_unload(kDriver, "cuModuleUnload");
constinit Next<Result(Function*, Module, const char*)> next_get_function(kDriver, "cuModuleGetFunction");
constinit Next<Result(Library*, const void*, int*, void**, unsigned, int*, void**, unsigned)> next_load_library(
    kDriver, "cuLibraryLoadData");
constinit Next<Result(Library*, const char*, int*, void**, unsigned, int*, void**, unsigned)> next_load_library_file(
    kDriver, "cuLibraryLoadFromFile");
constinit Next<Result(Library)> next_unload_library(kDriver, "cuLibraryUnload");
constinit Next<Result(Kernel*, Library, const char*)> next_get_kernel(kDriver, "cuLibraryGetKernel");
constinit Next<Result(Function*, Kernel)> next_function_of(kDriver, "cuKernelGetFunction");
constinit Next<Result(unsigned*, Module)> next_count(kDriver, "cuModuleGetFunctionCount");
constinit Next<Result(Function*, unsigned, Module)> next_enumerate(kDriver, "cuModuleEnumerateFunctions");
constinit Next<Result(const char**, Function)> next_name(kDriver, "cuFuncGetName");
constinit Next<Result(unsigned*, Library)> next_kernel_count(kDriver, "cuLibraryGetKernelCount");
constinit Next<Result(Kernel*, unsigned, Library)> next_enumerate_kernels(kDriver, "cuLibraryEnumerateKernels");
constinit Next<Result(const char**, Kernel)> next_kernel_name(kDriver, "cuKernelGetName");

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Result cuModuleLoad(Module* module, const char* path) {
  start();
  return add_file(next_load.call_or(kNotSupported, module, path), module, CudaRuntime::Code::kModule, path);
}

Result cuModuleLoadData(Module* module, const void* image) {
  start();
  return add_image(next_load_data.call_or(kNotSupported, module, image), module, CudaRuntime::Code::kModule, image);
}

Result cuModuleLoadDataEx(Module* module, const void* image, unsigned count, int* options, void** values) {
  start();
  return add_image(next_load_data_ex.call_or(kNotSupported, module, image, count, options, values), module,
                   CudaRuntime::Code::kModule, image);
}

Result cuModuleLoadFatBinary(Module* module, const void* image) {
  start();
  return add_image(next_load_fat_binary.call_or(kNotSupported, module, image), module, CudaRuntime::Code::kModule,
                   image);
}

Result cuModuleUnload(Module module) {
  forget_code(module);
  return next_unload.call_or(kNotSupported, module);
}

Result cuModuleGetFunction(Function* function, Module module, const char* name) {
  return add_kernel(next_get_function.call_or(kNotSupported, function, module, name), function, module, name);
}

Result cuModuleEnumerateFunctions(Function* functions, unsigned room, Module module) {
  unsigned count = 0;
  Result status = next_enumerate.call_or(kNotSupported, functions, room, module);
  if (status != kSuccess || next_count.call_or(kNotSupported, &count, module) != kSuccess) return status;
  return add_kernels(status, functions, std::min(room, count), module, next_name);
}

Result cuLibraryLoadData(Library* library, const void* image, int* options, void** values, unsigned count,
                         int* library_options, void** library_values, unsigned library_count) {
  start();
  Result status = next_load_library.call_or(kNotSupported, library, image, options, values, count, library_options,
                                            library_values, library_count);
  return add_image(status, library, CudaRuntime::Code::kLibrary, image);
}

Result cuLibraryLoadFromFile(Library* library, const char* path, int* options, void** values, unsigned count,
                             int* library_options, void** library_values, unsigned library_count) {
  start();
  Result status = next_load_library_file.call_or(kNotSupported, library, path, options, values, count, library_options,
                                                 library_values, library_count);
  return add_file(status, library, CudaRuntime::Code::kLibrary, path);
}

Result cuLibraryUnload(Library library) {
  forget_code(library);
  return next_unload_library.call_or(kNotSupported, library);
}

Result cuLibraryGetKernel(Kernel* kernel, Library library, const char* name) {
  return add_kernel(next_get_kernel.call_or(kNotSupported, kernel, library, name), kernel, library, name);
}

Result cuLibraryEnumerateKernels(Kernel* kernels, unsigned room, Library library) {
  unsigned count = 0;
  Result status = next_enumerate_kernels.call_or(kNotSupported, kernels, room, library);
  if (status != kSuccess || next_kernel_count.call_or(kNotSupported, &count, library) != kSuccess) return status;
  return add_kernels(status, kernels, std::min(room, count), library, next_kernel_name);
}

Result cuKernelGetFunction(Function* function, Kernel kernel) {
  Result status = next_function_of.call_or(kNotSupported, function, kernel);
  if (recorder() && status == kSuccess) Handles::all().add(*function, function_of(kernel));
  return status;
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::cuda
