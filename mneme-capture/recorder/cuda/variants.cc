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

// In the thread's context. It goes with that: by then nobody may be left to unload it.
class LoadedModule {
 public:
  explicit LoadedModule(const VariantCode& variant) : context_(devices.context()), image_(text_of(variant.code)) {
    const Status loaded = next::cuModuleLoadData(&module_, image_.c_str());
    if (loaded != kSuccess) throw Error::of("it cannot be loaded: {}", runtime().error_text(loaded));
    try {
      find(variant);
    } catch (const Error&) {
      next::cuModuleUnload(module_);
      throw;
    }
  }

  void unload() {
    const Pushed there(context_);
    next::cuModuleUnload(module_);
  }

  Context context() const { return context_; }
  Function function() const { return function_; }
  const CopiedVariables& variables() const { return *copied_; }

  // More shared memory than any kernel may have is to be asked for.
  int allow_shared(uint32_t bytes) {
    constexpr int kMostDynamicShared = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    constexpr uint32_t kWithoutAsking = 48 << 10;
    if (bytes <= std::max(kWithoutAsking, allowed_.load(std::memory_order_relaxed))) return kSuccess;
    allowed_ = bytes;
    return next::cuFuncSetAttribute(function_, kMostDynamicShared, static_cast<int>(bytes));
  }

 private:
  void find(const VariantCode& variant) {
    const std::string& name = variant.kernel->name;
    if (next::cuModuleGetFunction(&function_, module_, name.c_str()) != kSuccess) {
      throw Error::of("it has no function '{}'", name);
    }
    copied_.emplace(
        *variant.kernel, [this](const std::string& name) { return variable(name); },
        [&](const std::string& name) { return runtime().global(variant.program, name, variant.device); });
  }
  std::optional<MemoryRange> variable(const std::string& name) const {
    Address address = 0;
    size_t size = 0;
    const std::string in_code = objects::ptx_name(name);
    const Status status = next::cuModuleGetGlobal_v2(&address, &size, module_, in_code.c_str());
    if (status == kNotFound) return std::nullopt;
    if (status != kSuccess) throw without_variable(name, runtime().error_text(status));
    return MemoryRange{address, size};
  }

  const Context context_;
  const std::string image_;  // PTX ends with a zero
  Module module_ = nullptr;
  Function function_ = nullptr;
  std::atomic<uint32_t> allowed_{0};  // bytes
  std::optional<CopiedVariables> copied_;
};

class CudaVariant final : public LoadedVariant {
 public:
  explicit CudaVariant(const VariantCode& variant) : variant_(variant) { here(); }

  void* function(const LaunchRequest& request) override {
    const OnDevice there(variant_.device);
    LoadedModule& module = here();
    const bool serves = !module.variables().any() && module.allow_shared(request.shared_bytes) == kSuccess;
    return serves ? module.function() : nullptr;
  }

  void forget(void* context) override {
    std::lock_guard lock(mutex_);
    last_ = nullptr;
    if (const auto found = modules_.find(context); found != modules_.end()) {
      gone_.push_back(std::move(found->second));
      modules_.erase(found);
    }
  }

  void unload() override {
    std::lock_guard lock(mutex_);
    last_ = nullptr;
    for (auto& [context, module] : modules_) {
      module->unload();
      gone_.push_back(std::move(module));
    }
    modules_.clear();
  }

  int launch(const LaunchRequest& request) override {
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

  // Mostly it is one context.
  LoadedModule& here() {
    const Context context = devices.context();
    LoadedModule* last = last_.load(std::memory_order_acquire);
    if (last && last->context() == context) return *last;
    std::lock_guard lock(mutex_);
    std::unique_ptr<LoadedModule>& module = modules_[context];
    if (!module) module = std::make_unique<LoadedModule>(variant_);
    last_ = module.get();
    return *module;
  }

  const VariantCode variant_;
  std::atomic<LoadedModule*> last_{nullptr};
  std::mutex mutex_;
  std::map<Context, std::unique_ptr<LoadedModule>> modules_;
  std::vector<std::unique_ptr<LoadedModule>> gone_;  // unloaded, or with their contexts
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
