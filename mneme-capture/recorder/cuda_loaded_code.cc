// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/cuda_loaded_code.h"

#include "base/file.h"
#include "recorder/cuda_handles.h"

namespace mneme::record::cuda {
namespace {

// A module is made from a fat binary, or from a wrapper that leads to one.
const std::byte* image_of(const void* image) {
  const auto* wrapper = static_cast<const FatBinaryWrapper*>(image);
  return wrapper->magic == kWrapperMagic ? wrapper->data : static_cast<const std::byte*>(image);
}

// As the application may free its image, the recorder has a copy.
template <class Bytes>
Result add(Result status, void* const* handle, CudaRuntime::Code kind, const Bytes& bytes) {
  Core* core = recorder();
  if (!core || status != kSuccess) return status;
  runtime().add_code(*handle, kind);
  try {
    core->add_module(*handle, bytes());
  } catch (const std::exception&) {
    core->add_fat_binary(*handle, nullptr);  // its kernels will be counted as not recordable
  }
  return status;
}

}  // namespace

Result add_image(Result status, void* const* handle, CudaRuntime::Code kind, const void* image) {
  return add(status, handle, kind, [&] {
    const std::byte* bytes = image_of(image);
    return std::string(reinterpret_cast<const char*>(bytes), objects::size_of_image(bytes, "a module"));
  });
}

Result add_file(Result status, void* const* handle, CudaRuntime::Code kind, const char* path) {
  return add(status, handle, kind, [&] { return read_file(path); });
}

void forget_code(void* handle) {
  Core* core = recorder();
  if (!core) return;
  core->remove_fat_binary(handle);
  for (const MemoryRange& variable : runtime().remove_code(handle)) {
    core->remove_mapped(reinterpret_cast<void*>(variable.address), variable.size);
  }
}

Result add_kernel(Result status, void* const* kernel, void* handle, const char* name) {
  if (Core* core = recorder(); core && status == kSuccess) {
    // Of a module that is behind start-up code's kernels.
    if (const void* host = runtime().has_code(handle) ? nullptr : registered_function(*kernel)) {
      Handles::all().add(*kernel, host);
      return status;
    }
    Handles::all().remove(*kernel);
    runtime().add_function(*kernel);
    core->add_stub(handle, *kernel, name);
  }
  return status;
}

Result add_kernels(Result status, void* const* kernels, unsigned room, void* handle,
                   const Next<Result(const char**, void*)>& name_of) {
  if (!recorder() || status != kSuccess) return status;
  for (unsigned i = 0; i < room; ++i) {
    const char* name = nullptr;
    // Where there is room for more than there are, the rest is as it was.
    if (!kernels[i] || name_of.call_or(kNotSupported, &name, kernels[i]) != kSuccess || !name) break;
    add_kernel(status, &kernels[i], handle, name);
  }
  return status;
}

}  // namespace mneme::record::cuda
