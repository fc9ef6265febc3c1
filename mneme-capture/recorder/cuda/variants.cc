// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variants in the place of kernels on NVIDIA's GPUs. Modules belong to a context, so that there is one for each.
#include <map>
#include <mutex>

#include "base/error.h"
#include "objects/ptx_name.h"
#include "recorder/cuda/runtime.h"
#include "recorder/runtime/gpu_variant.h"

namespace mneme::record::cuda {

CALL(Status, cuModuleLoadData, Module*, const void*)
CALL(Status, cuModuleUnload, Module)
CALL(Status, cuModuleGetFunction, Function*, Module, const char*)
CALL(Status, cuModuleGetGlobal_v2, Address*, size_t*, Module, const char*)
CALL(Status, cuFuncSetAttribute, Function, int, int)
CALL(Status, cuLaunchKernelEx, const DriverLaunchConfig*, Function, void**, void**)

namespace {

constexpr int kInvalidValue = 1;

// In the thread's context.
class LoadedModule {
 public:
  explicit LoadedModule(const VariantCode& variant)
      : image_(text_of(variant.code)),
        copied_((load(*variant.kernel), *variant.kernel), [this](const std::string& name) { return variable(name); },
                [&](const std::string& name) { return runtime().global(variant.program, name, variant.device); }) {}

  Function function() const { return function_; }
  const CopiedVariables& variables() const { return copied_; }

  // More shared memory than any kernel may have is to be asked for.
  int allow_shared(uint32_t bytes) {
    constexpr int kMostDynamicShared = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    constexpr uint32_t kWithoutAsking = 48 << 10;
    if (bytes <= std::max(kWithoutAsking, allowed_.load(std::memory_order_relaxed))) return kSuccess;
    allowed_ = bytes;
    return next::cuFuncSetAttribute(function_, kMostDynamicShared, static_cast<int>(bytes));
  }

 private:
  void load(const bundle::KernelInfo& kernel) {
    Module module = nullptr;
    const Status loaded = next::cuModuleLoadData(&module, image_.c_str());
    if (loaded != kSuccess) throw Error::of("it cannot be loaded: {}", runtime().error_text(loaded));
    module_ = module;
    if (next::cuModuleGetFunction(&function_, module, kernel.name.c_str()) == kSuccess) return;
    next::cuModuleUnload(module);
    throw Error::of("it has no function '{}'", kernel.name);
  }
  std::optional<MemoryRange> variable(const std::string& name) const {
    Address address = 0;
    size_t size = 0;
    const std::string in_code = objects::ptx_name(name);
    if (next::cuModuleGetGlobal_v2(&address, &size, module_, in_code.c_str()) != kSuccess) return std::nullopt;
    return MemoryRange{address, size};
  }

  const std::string image_;  // PTX ends with a zero
  Module module_ = nullptr;
  Function function_ = nullptr;
  std::atomic<uint32_t> allowed_{0};  // bytes
  CopiedVariables copied_;
};

class CudaVariant final : public LoadedVariant {
 public:
  explicit CudaVariant(const VariantCode& variant) : variant_(variant), first_context_(devices.context()) {
    first_ = &modules_.try_emplace(first_context_, variant).first->second;
  }

  void* function() override { return first_->variables().any() ? nullptr : first_->function(); }

  int launch(const LaunchRequest& request) override try {
    const OnDevice there(variant_.device);
    LoadedModule& module = here();
    if (const int status = module.allow_shared(request.shared_bytes)) return status;
    if (const int status = module.variables().copy(devices, request.stream)) return status;
    LaunchAttribute own[2] = {};
    const auto [attributes, count] = attributes_of(request, own);
    DriverLaunchConfig config{{request.grid.x, request.grid.y, request.grid.z},
                              {request.block.x, request.block.y, request.block.z},
                              request.shared_bytes,
                              static_cast<Stream>(request.stream),
                              attributes,
                              count};
    if (request.arguments.list) {
      return next::cuLaunchKernelEx(&config, module.function(), const_cast<void**>(request.arguments.list), nullptr);
    }
    std::vector<void*> list = argument_list(*variant_.kernel, request);
    return next::cuLaunchKernelEx(&config, module.function(), list.data(), nullptr);
  } catch (const std::exception&) {
    return kInvalidValue;
  }

 private:
  // As the application gave them; or those that it gave by the function that it called.
  static std::pair<const LaunchAttribute*, unsigned> attributes_of(const LaunchRequest& request,
                                                                   LaunchAttribute (&own)[2]) {
    if (request.attributes) return {static_cast<const LaunchAttribute*>(request.attributes), request.attribute_count};
    unsigned count = 0;
    if (request.cooperative) own[count++] = {kLaunchCooperative, 0, {1}};
    if (request.cluster.count() > 1) {
      own[count++] = {kLaunchClusterDimension, 0, {request.cluster.x, request.cluster.y, request.cluster.z}};
    }
    return {own, count};
  }

  LoadedModule& here() {
    const Context context = devices.context();
    if (context == first_context_) return *first_;
    std::lock_guard lock(mutex_);
    return modules_.try_emplace(context, variant_).first->second;
  }

  const VariantCode variant_;
  const Context first_context_;
  LoadedModule* first_ = nullptr;
  std::mutex mutex_;
  std::map<Context, LoadedModule> modules_;
};

}  // namespace

// "sm_90a" is what "sm_90" runs, too.
bool CudaRuntime::runs(const std::string& target, int device) {
  const std::string own = "cuda:" + processor(device);
  return target == own || target == own + "a";
}

std::unique_ptr<LoadedVariant> CudaRuntime::load_variant(const VariantCode& variant) {
  OnDevice there(variant.device);
  return std::make_unique<CudaVariant>(variant);
}

}  // namespace mneme::record::cuda
