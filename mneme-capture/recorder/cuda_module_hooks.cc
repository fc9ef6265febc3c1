// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of CUDA's driver that load device code at run time, as the application finds them first.
#include "base/file.h"
#include "recorder/cuda_handles.h"
#include "recorder/cuda_runtime.h"

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

// What a module is made from is its fat binary, or points to it.
const std::byte* image_of(const void* image) {
  const auto* wrapper = static_cast<const FatBinaryWrapper*>(image);
  return wrapper->magic == kWrapperMagic ? wrapper->data : static_cast<const std::byte*>(image);
}

// As the application may free its image, the recorder has a copy.
template <class Bytes>
Result add(Result status, void* const* module, CudaRuntime::Code kind, const Bytes& bytes) {
  Core* core = recorder();
  if (!core || status != kSuccess) return status;
  runtime().add_code(*module, kind);
  try {
    core->add_module(*module, bytes());
  } catch (const std::exception&) {
    core->add_fat_binary(*module, nullptr);  // its kernels will be counted as not recordable
  }
  return status;
}

Result add_image(Result status, void* const* module, CudaRuntime::Code kind, const void* image) {
  return add(status, module, kind, [&] {
    const std::byte* bytes = image_of(image);
    return std::string(reinterpret_cast<const char*>(bytes), objects::size_of_image(bytes, "a module"));
  });
}

Result add_file(Result status, void* const* module, CudaRuntime::Code kind, const char* path) {
  return add(status, module, kind, [&] { return read_file(path); });
}

// Before the driver does: what its variables and functions were is to be forgotten while they are there.
void forget(void* module) {
  Core* core = recorder();
  if (!core) return;
  core->remove_fat_binary(module);
  for (const MemoryRange& variable : runtime().remove_code(module)) {
    core->remove_mapped(reinterpret_cast<void*>(variable.address), variable.size);
  }
}

Result add_kernel(Result status, void* const* function, void* module, const char* name) {
  if (Core* core = recorder(); core && status == kSuccess) {
    Handles::all().remove(*function);
    runtime().add_function(*function);
    core->add_stub(module, *function, name);
  }
  return status;
}

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
  forget(module);
  return next_unload.call_or(kNotSupported, module);
}

Result cuModuleGetFunction(Function* function, Module module, const char* name) {
  return add_kernel(next_get_function.call_or(kNotSupported, function, module, name), function, module, name);
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
  forget(library);
  return next_unload_library.call_or(kNotSupported, library);
}

Result cuLibraryGetKernel(Kernel* kernel, Library library, const char* name) {
  return add_kernel(next_get_kernel.call_or(kNotSupported, kernel, library, name), kernel, library, name);
}

Result cuKernelGetFunction(Function* function, Kernel kernel) {
  Result status = next_function_of.call_or(kNotSupported, function, kernel);
  if (recorder() && status == kSuccess) Handles::all().add(*function, Handles::all().function(kernel));
  return status;
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::cuda
