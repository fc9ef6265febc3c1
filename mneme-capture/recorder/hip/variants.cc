// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variants in the place of kernels of a HIP program: on AMD's GPUs, and on the host device of any program.
#include <utility>

#include "base/error.h"
#include "recorder/hip/runtime.h"
#include "recorder/runtime/gpu_variant.h"

namespace mneme::record::hip {

CALL(Status, hipModuleLoadData, Module*, const void*)
CALL(Status, hipModuleGetFunction, Function*, Module, const char*)
CALL(Status, hipModuleUnload, Module)
CALL(Status, hipModuleGetGlobal, void**, size_t*, Module, const char*)
CALL(Status, hipModuleLaunchKernel, Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
     Stream, void**, void**)
CALL(Status, hipModuleLaunchCooperativeKernel, Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
     unsigned, Stream, void**)
CALL(Status, hipLaunchKernel, const void*, Dimensions, Dimensions, void**, size_t, Stream)
CALL(Status, hipLaunchCooperativeKernel, const void*, Dimensions, Dimensions, void**, unsigned, Stream)
CALL(Status, mneme_hostgpu_load_variant, const void*, const char*, const void*, size_t,
     void (*)(void*, int, const char*), void*, const void**, char*, size_t)

namespace {

Dimensions dimensions(const bundle::Dim3& size) { return {size.x, size.y, size.z}; }

Status launch_function(Function function, const LaunchRequest& request, void** arguments) {
  auto* stream = static_cast<Stream>(request.stream);
  const auto& [x, y, z] = request.grid;
  const auto& [block_x, block_y, block_z] = request.block;
  if (request.cooperative) {
    return next::hipModuleLaunchCooperativeKernel(function, x, y, z, block_x, block_y, block_z, request.shared_bytes,
                                                  stream, arguments);
  }
  return next::hipModuleLaunchKernel(function, x, y, z, block_x, block_y, block_z, request.shared_bytes, stream,
                                     arguments, nullptr);
}

// Between the events of an extended launch.
template <class Launch>
Status between_events(const LaunchRequest& request, const Launch& launch) {
  if (request.start) succeeds(devices.record_event(request.start, request.stream));
  const Status status = launch();
  if (request.stop) succeeds(devices.record_event(request.stop, request.stream));
  return status;
}

// With the list of arguments that the launch has, or that is made of its packed ones. Throws Error where it has none.
template <class Launch>
Status launch_variant(const bundle::KernelInfo& kernel, const LaunchRequest& request, const Launch& launch) {
  std::vector<void*> made;
  if (!request.arguments.list) made = argument_list(kernel, request);
  void** list = request.arguments.list ? const_cast<void**>(request.arguments.list) : made.data();
  return between_events(request, [&] { return launch(list); });
}

// It has the application's own variables, and is launched as a host function is.
class HostVariant final : public LoadedVariant {
 public:
  explicit HostVariant(const VariantCode& variant) : kernel_(*variant.kernel), failed_(variant.failed) {
    char reason[512] = "";
    const void* stands_for_it = nullptr;
    const Status status =
        next::mneme_hostgpu_load_variant(variant.function, variant.target.c_str(), variant.code.data(),
                                         variant.code.size(), has_failed, this, &stands_for_it, reason, sizeof reason);
    if (status != kSuccess) {
      devices.forget_error();
      throw Error(*reason ? reason : "it cannot be loaded");
    }
    function_ = stands_for_it;
  }

  int launch(const LaunchRequest& request) override {
    return launch_variant(kernel_, request, [&](void** arguments) { return launch(request, arguments); });
  }

 private:
  int launch(const LaunchRequest& request, void** arguments) const {
    const Dimensions grid = dimensions(request.grid), block = dimensions(request.block);
    auto* stream = static_cast<Stream>(request.stream);
    if (request.cooperative) {
      return next::hipLaunchCooperativeKernel(function_, grid, block, arguments, request.shared_bytes, stream);
    }
    return next::hipLaunchKernel(function_, grid, block, arguments, request.shared_bytes, stream);
  }

  static void has_failed(void* self, int own_code, const char* fault) {
    static_cast<HostVariant*>(self)->failed_(own_code != 0, fault);
  }

  const bundle::KernelInfo& kernel_;
  const std::function<void(bool own_code, const std::string& fault)> failed_;
  const void* function_ = nullptr;
};

class GpuVariant final : public LoadedVariant {
 public:
  explicit GpuVariant(const VariantCode& variant)
      : kernel_(*variant.kernel),
        module_(variant),
        copied_(
            *variant.kernel, [&](const std::string& name) { return module_.variable(name); },
            [&](const std::string& name) { return runtime().global(variant.program, name, variant.device); }) {}

  void* function(const LaunchRequest&) override { return copied_.any() ? nullptr : module_.function; }

  void unload() override { module_.unload(); }

  int launch(const LaunchRequest& request) override {
    if (const int status = copied_.copy(devices, request.stream)) return status;
    return launch_variant(kernel_, request,
                          [&](void** arguments) { return launch_function(module_.function, request, arguments); });
  }

 private:
  struct LoadedModule {
    explicit LoadedModule(const VariantCode& variant) {
      const Status loaded = next::hipModuleLoadData(&handle, variant.code.data());
      if (!succeeds(loaded)) throw Error::of("it cannot be loaded: {}", runtime().error_text(loaded));
      const Status found = next::hipModuleGetFunction(&function, handle, variant.kernel->name.c_str());
      if (succeeds(found)) return;
      next::hipModuleUnload(handle);
      throw Error::of("it has no function '{}'", variant.kernel->name);
    }
    ~LoadedModule() { unload(); }
    LoadedModule(const LoadedModule&) = delete;
    LoadedModule& operator=(const LoadedModule&) = delete;

    void unload() {
      if (handle) next::hipModuleUnload(std::exchange(handle, nullptr));
    }

    std::optional<MemoryRange> variable(const std::string& name) const {
      void* address = nullptr;
      size_t size = 0;
      const Status status = next::hipModuleGetGlobal(&address, &size, handle, name.c_str());
      if (succeeds(status)) return MemoryRange{reinterpret_cast<uint64_t>(address), size};
      if (status != kNotFound) throw without_variable(name, runtime().error_text(status));
      return std::nullopt;
    }

    Module handle = nullptr;
    Function function = nullptr;
  };

  const bundle::KernelInfo& kernel_;
  LoadedModule module_;
  CopiedVariables copied_;
};

}  // namespace

// What an AMD GPU does not run cannot be loaded on it.
bool HipRuntime::runs(const std::string& target, int) { return target.starts_with(is_stand_in() ? "host:" : "hip:"); }

std::unique_ptr<LoadedVariant> HipRuntime::load_variant(const VariantCode& variant) {
  OnDevice there(variant.device);
  if (is_stand_in()) return std::make_unique<HostVariant>(variant);
  return std::make_unique<GpuVariant>(variant);
}

}  // namespace mneme::record::hip
