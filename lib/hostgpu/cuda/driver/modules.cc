// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code that programs load, and its kernels, as far as their functions are no other's. The options are for a compiler
// that is not here.
#include "hostgpu/cuda/driver/driver.h"
#include "hostgpu/cuda/functions.h"

using namespace mneme::hostgpu::cuda::driver;
using mneme::hostgpu::cuda::kInvalidValue;

extern "C" {

Result cuModuleLoad(Module* module, const char* path) {
  return forward<cudaLibraryLoadFromFile>(module, path, nullptr, nullptr, 0U, nullptr, nullptr, 0U);
}
Result cuModuleLoadData(Module* module, const void* image) {
  return forward<cudaLibraryLoadData>(module, image, nullptr, nullptr, 0U, nullptr, nullptr, 0U);
}
Result cuModuleLoadDataEx(Module* module, const void* image, unsigned, int*, void**) {
  return cuModuleLoadData(module, image);
}
Result cuModuleLoadFatBinary(Module* module, const void* image) { return cuModuleLoadData(module, image); }

// All is loaded at once.
Result cuModuleGetLoadingMode(int* mode) {
  constexpr int kEager = 1;
  if (!mode) return kInvalidValue;
  *mode = kEager;
  return 0;
}
Result cuFuncLoad(Function function) {
  const char* name = nullptr;
  return forward<cudaFuncGetName>(&name, function);
}
Result cuFuncIsLoaded(int* state, Function function) {
  if (!state) return kInvalidValue;
  *state = 1;
  return cuFuncLoad(function);
}

// A library is its module, a kernel its function, on every device.
Result cuLibraryGetModule(Module* module, Module library) {
  if (!module) return kInvalidValue;
  *module = library;
  return mneme_hostgpu_kernel_name(library, 0) ? 0 : kInvalidHandle;
}
Result cuKernelGetFunction(Function* function, Function kernel) {
  if (!function) return kInvalidValue;
  *function = kernel;
  return cuFuncLoad(kernel);
}
Result cuFuncGetModule(Module* module, Function function) {
  return answer([&] { return mneme_hostgpu_module_of(function, module); });
}
Result cuKernelGetLibrary(Module* library, Function kernel) { return cuFuncGetModule(library, kernel); }
Result cuKernelGetAttribute(int* value, hipFunction_attribute which, Function kernel, int) {
  return forward<hipFuncGetAttribute>(value, which, kernel);
}
Result cuKernelSetAttribute(hipFuncAttribute which, int value, Function kernel, int) {
  return forward<hipFuncSetAttribute>(kernel, which, value);
}
Result cuKernelSetCacheConfig(Function kernel, hipFuncCache_t config, int) {
  return forward<hipFuncSetCacheConfig>(kernel, config);
}

}  // extern "C"
