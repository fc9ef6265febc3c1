// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of CUDA's driver and of its runtime that load device code at run time. The shared runtime calls the
// driver's by itself, not through the recorder; the handles of both are the same. A static runtime loads by the
// driver's what start-up code has registered with it.
#include <dlfcn.h>

#include "base/file.h"
#include "recorder/cuda/handles.h"
#include "recorder/cuda/runtime.h"

namespace mneme::record::cuda {

CALL(Status, cuModuleGetFunctionCount, unsigned*, Module)
CALL(Status, cuLibraryGetKernelCount, unsigned*, Library)
CALL(Status, cudaLibraryGetKernelCount, unsigned*, Library)
CALL(Status, cuFuncGetName, const char**, Function)
CALL(Status, cuKernelGetName, const char**, Kernel)

namespace {

using Code = CudaRuntime::Code;

// `add` tells the recorder of the code.
template <Code kind, class Add>
Status loaded(CudaRuntime& runtime, Status status, void* const* handle, const Add& add) {
  Core* core = runtime.recorder();
  if (!core || status != kSuccess) return status;
  runtime.add_code(*handle, kind);
  try {
    add(*core);
  } catch (const std::exception&) {
    core->add_fat_binary(*handle, nullptr);  // its kernels will be counted as not recordable
  }
  return status;
}
template <Code kind>
Status load_file(CudaRuntime& runtime, const Real& real, void** handle, const char* path, ...) {
  runtime.start();
  return loaded<kind>(runtime, real(), handle, [&](Core& core) { core.add_module(*handle, read_file(path)); });
}
// Part of the program, or of a library, which stays as long as its code does: a runtime loads what start-up code has
// registered with it, which may be large.
bool stays(const void* image) {
  Dl_info object{};
  return ::dladdr(image, &object) != 0;
}

// A module is made from a fat binary, or from a wrapper that leads to one. An image that the application may free is
// copied.
template <Code kind>
Status load_image(CudaRuntime& runtime, const Real& real, void** handle, const void* image, ...) {
  runtime.start();
  return loaded<kind>(runtime, real(), handle, [&](Core& core) {
    const auto* wrapper = static_cast<const FatBinaryWrapper*>(image);
    const bool wrapped = wrapper->magic == kWrapperMagic;
    const auto* bytes = wrapped ? wrapper->data : static_cast<const std::byte*>(image);
    if (wrapped && stays(bytes)) {
      core.add_fat_binary(*handle, bytes);
    } else {
      core.add_module(*handle, {reinterpret_cast<const char*>(bytes), objects::size_of_image(bytes, "a module")});
    }
  });
}

// What its variables and functions were is to be forgotten while they are there.
Status unload(CudaRuntime& runtime, const Real& real, void* handle) {
  forget_code(runtime, handle);
  return real();
}
// Others go at the process's end only, mostly, when the driver is none that can be asked.
Status unload_module(CudaRuntime& runtime, const Real& real, void* handle) {
  const Status status = unload(runtime, real, handle);
  unload_variants(runtime, handle);
  return status;
}

void add_kernel(Core& core, void* kernel, void* handle, const char* name) {
  if (void* code = runtime().code_of_module(handle)) handle = code;
  // Of a module that is behind start-up code's kernels.
  if (const void* host = runtime().has_code(handle) ? nullptr : registered_function(kernel)) {
    Handles::all().add(kernel, host);
    return;
  }
  add_loaded_kernel(core, handle, kernel, name);
}

Status get_kernel(CudaRuntime& runtime, const Real& real, void** kernel, void* handle, const char* name) {
  const Status status = real();
  if (Core* core = runtime.recorder(); core && status == kSuccess) add_kernel(*core, *kernel, handle, name);
  return status;
}

// Several, whose number and names others say.
template <const auto& count_of, const auto& name_of>
Status enumerate(CudaRuntime& runtime, const Real& real, void** kernels, unsigned room, void* handle) {
  unsigned count = 0;
  const Status status = real();
  Core* core = runtime.recorder();
  if (!core || status != kSuccess || count_of(&count, handle) != kSuccess) return status;
  for (unsigned i = 0; i < std::min(room, count); ++i) {
    const char* name = nullptr;
    // Where there is room for more than there are, the rest is as it was.
    if (!kernels[i] || name_of(&name, kernels[i]) != kSuccess || !name) break;
    add_kernel(*core, kernels[i], handle, name);
  }
  return status;
}
constexpr auto enumerate_functions = enumerate<next::cuModuleGetFunctionCount, next::cuFuncGetName>;
constexpr auto enumerate_kernels = enumerate<next::cuLibraryGetKernelCount, next::cuKernelGetName>;
constexpr auto enumerate_by_runtime = enumerate<next::cudaLibraryGetKernelCount, next::cuKernelGetName>;

Status get_function(CudaRuntime& runtime, const Real& real, Function* function, Kernel kernel) {
  const Status status = real();
  if (runtime.recorder() && status == kSuccess) Handles::all().add(*function, function_of(kernel));
  return status;
}

}  // namespace

HOOK(load_file<Code::kModule>, cuModuleLoad, Module*, const char*)
HOOK(load_image<Code::kModule>, cuModuleLoadData, Module*, const void*)
HOOK(load_image<Code::kModule>, cuModuleLoadDataEx, Module*, const void*, unsigned, int*, void**)
HOOK(load_image<Code::kModule>, cuModuleLoadFatBinary, Module*, const void*)
HOOK(unload_module, cuModuleUnload, Module)
HOOK(get_kernel, cuModuleGetFunction, Function*, Module, const char*)
HOOK(enumerate_functions, cuModuleEnumerateFunctions, Function*, unsigned, Module)

HOOK(load_image<Code::kLibrary>, cuLibraryLoadData, Library*, const void*, int*, void**, unsigned, int*, void**,
     unsigned)
HOOK(load_file<Code::kLibrary>, cuLibraryLoadFromFile, Library*, const char*, int*, void**, unsigned, int*, void**,
     unsigned)
HOOK(unload, cuLibraryUnload, Library)
HOOK(get_kernel, cuLibraryGetKernel, Kernel*, Library, const char*)
HOOK(enumerate_kernels, cuLibraryEnumerateKernels, Kernel*, unsigned, Library)
HOOK(get_function, cuKernelGetFunction, Function*, Kernel)

HOOK(load_image<Code::kLibrary>, cudaLibraryLoadData, Library*, const void*, int*, void**, unsigned, int*, void**,
     unsigned)
HOOK(load_file<Code::kLibrary>, cudaLibraryLoadFromFile, Library*, const char*, int*, void**, unsigned, int*, void**,
     unsigned)
HOOK(unload, cudaLibraryUnload, Library)
HOOK(get_kernel, cudaLibraryGetKernel, Kernel*, Library, const char*)
HOOK(enumerate_by_runtime, cudaLibraryEnumerateKernels, Kernel*, unsigned, Library)

}  // namespace mneme::record::cuda
