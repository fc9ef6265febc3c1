// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Libraries: code that a program loads at run time. To HIP they are modules, and their kernels are functions. The
// options are for a compiler that is not here.
#include "hostgpu/cuda/cuda.h"
#include "hostgpu/cuda/fat_binary.h"
#include "hostgpu/extensions.h"

using namespace mneme::hostgpu::cuda;

extern "C" {

Error cudaLibraryLoadData(hipModule_t* library, const void* code, int*, void**, unsigned, int*, void**, unsigned) {
  return error(hipModuleLoadData(library, image_of(code)));
}
Error cudaLibraryLoadFromFile(hipModule_t* library, const char* path, int*, void**, unsigned, int*, void**, unsigned) {
  return error(hipModuleLoad(library, path));
}
Error cudaLibraryGetKernelCount(unsigned* count, hipModule_t library) {
  if (!count) return kInvalidValue;
  for (*count = 0; mneme_hostgpu_kernel_name(library, *count);) ++*count;
  return *count ? 0 : error(hipErrorInvalidHandle);
}
// As many as there is room for.
Error cudaLibraryEnumerateKernels(hipFunction_t* kernels, unsigned room, hipModule_t library) {
  if (!kernels) return kInvalidValue;
  for (unsigned i = 0; i < room; ++i) {
    const char* name = mneme_hostgpu_kernel_name(library, i);
    if (!name) return i ? 0 : error(hipErrorInvalidHandle);
    if (Error status = error(hipModuleGetFunction(&kernels[i], library, name))) return status;
  }
  return 0;
}

// Kernels are the same on all devices.
Error cudaKernelSetAttributeForDevice(hipFunction_t kernel, int which, int value, int) {
  return error(hipFuncSetAttribute(kernel, static_cast<hipFuncAttribute>(which), value));
}

}  // extern "C"
