// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of CUDA's runtime that load device code at run time, as the application finds them first. The runtime
// calls the driver's by itself, not through the recorder.
#include <algorithm>

#include "recorder/cuda/loaded_code.h"

namespace mneme::record::cuda {
namespace {

constinit Next<Error(Library*, const void*, int*, void**, unsigned, int*, void**, unsigned)> next_load(
    kLibrary, "cudaLibraryLoadData");
constinit Next<Error(Library*, const char*, int*, void**, unsigned, int*, void**, unsigned)> next_load_file(
    kLibrary, "cudaLibraryLoadFromFile");
constinit Next<Error(Library)> next_unload(kLibrary, "cudaLibraryUnload");
constinit Next<Error(Kernel*, Library, const char*)> next_get_kernel(kLibrary, "cudaLibraryGetKernel");
constinit Next<Error(unsigned*, Library)> next_count(kLibrary, "cudaLibraryGetKernelCount");
constinit Next<Error(Kernel*, unsigned, Library)> next_enumerate(kLibrary, "cudaLibraryEnumerateKernels");
constinit Next<Result(const char**, Kernel)> next_kernel_name(kDriver, "cuKernelGetName");

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Error cudaLibraryLoadData(Library* library, const void* image, int* options, void** values, unsigned count,
                          int* library_options, void** library_values, unsigned library_count) {
  start();
  Error status = next_load.call_or(kNotSupported, library, image, options, values, count, library_options,
                                   library_values, library_count);
  return add_image(status, library, CudaRuntime::Code::kLibrary, image);
}

Error cudaLibraryLoadFromFile(Library* library, const char* path, int* options, void** values, unsigned count,
                              int* library_options, void** library_values, unsigned library_count) {
  start();
  Error status = next_load_file.call_or(kNotSupported, library, path, options, values, count, library_options,
                                        library_values, library_count);
  return add_file(status, library, CudaRuntime::Code::kLibrary, path);
}

Error cudaLibraryUnload(Library library) {
  forget_code(library);
  return next_unload.call_or(kNotSupported, library);
}

Error cudaLibraryGetKernel(Kernel* kernel, Library library, const char* name) {
  return add_kernel(next_get_kernel.call_or(kNotSupported, kernel, library, name), kernel, library, name);
}

Error cudaLibraryEnumerateKernels(Kernel* kernels, unsigned room, Library library) {
  unsigned count = 0;
  Error status = next_enumerate.call_or(kNotSupported, kernels, room, library);
  if (status != kSuccess || next_count.call_or(kNotSupported, &count, library) != kSuccess) return status;
  return add_kernels(status, kernels, std::min(room, count), library, next_kernel_name);
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::cuda
