// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variants in the place of kernels of a HIP program: on AMD's GPUs, and on the host device of any program.
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
CALL(Status, mneme_hostgpu_load_variant, const void*, const char*, const void*, size_t, const void**, char*, size_t)

namespace {

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

class HipVariant : public LoadedVariant {
 public:
  explicit HipVariant(const bundle::KernelInfo& kernel) : kernel_(kernel) {}

  int launch(const LaunchRequest& request) override {
    if (const int status = prepare(request)) return status;
    if (request.arguments.list) {
      return launch_function(function_, request, const_cast<void**>(request.arguments.list));
    }
    std::vector<void*> list = argument_list(kernel_, request);
    return launch_function(function_, request, list.data());
  }

 protected:
  virtual int prepare(const LaunchRequest&) { return kSuccess; }

  const bundle::KernelInfo& kernel_;
  Function function_ = nullptr;
};

// It has the application's own variables.
class HostVariant final : public HipVariant {
 public:
  explicit HostVariant(const VariantCode& variant) : HipVariant(*variant.kernel) {
    char reason[512] = "";
    const void* stands_for_it = nullptr;
    const Status status =
        next::mneme_hostgpu_load_variant(variant.function, variant.target.c_str(), variant.code.data(),
                                         variant.code.size(), &stands_for_it, reason, sizeof reason);
    if (status != kSuccess) {
      devices.forget_error();
      throw Error(*reason ? reason : "it cannot be loaded");
    }
    function_ = const_cast<void*>(stands_for_it);
  }
};

class GpuVariant final : public HipVariant {
 public:
  explicit GpuVariant(const VariantCode& variant)
      : HipVariant(*variant.kernel),
        module_(variant),
        copied_(
            *variant.kernel, [&](const std::string& name) { return module_.variable(name); },
            [&](const std::string& name) { return runtime().global(variant.program, name, variant.device); }) {
    function_ = module_.function;
  }

  void* function(const LaunchRequest&) override { return copied_.any() ? nullptr : function_; }

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
    ~LoadedModule() { next::hipModuleUnload(handle); }
    LoadedModule(const LoadedModule&) = delete;
    LoadedModule& operator=(const LoadedModule&) = delete;

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

  int prepare(const LaunchRequest& request) override { return copied_.copy(devices, request.stream); }

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
