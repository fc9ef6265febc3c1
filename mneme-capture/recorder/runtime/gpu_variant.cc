// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/runtime/gpu_variant.h"

#include <algorithm>

namespace mneme::record {
namespace {

// Where it is not known what the kernel stores, or through pointers of which origin, it may write any.
bool may_write(const bundle::KernelInfo& kernel, const bundle::Global& variable) {
  if (variable.constant) return false;
  if (!kernel.stores) return true;
  return std::ranges::any_of(*kernel.stores, [&](const bundle::StoreType& store) {
    return store.symbol == variable.name || (store.argument < 0 && store.symbol.empty());
  });
}

}  // namespace

std::unique_ptr<LoadedVariant> Runtime::load_variant(const VariantCode&) {
  throw Error("variants are not applied with this runtime");
}

CopiedVariables::CopiedVariables(const bundle::KernelInfo& kernel, const Find& ours, const Find& theirs) {
  for (const bundle::Global& variable : kernel.globals) {
    if (variable.name == bundle::kTextures) continue;
    if (variable.name == bundle::kDeviceHeap) throw Error("the kernel allocates from the device's heap");
    const std::optional<MemoryRange> here = ours(variable.name);
    if (!here) continue;  // the variant does not use it
    if (may_write(kernel, variable)) {
      throw Error::of("the kernel may write the device variable '{}', and a variant's variables are its own",
                      variable.name);
    }
    const std::optional<MemoryRange> there = theirs(variable.name);
    if (!there || there->size != here->size) {
      throw Error::of("the application has no device variable '{}' of {} bytes", variable.name, here->size);
    }
    variables_.push_back({*there, here->address});
  }
}

int CopiedVariables::copy(const Devices& devices, void* stream) const {
  constexpr int kOnDevice = 3;  // hipMemcpyDeviceToDevice
  for (const Variable& variable : variables_) {
    const int status = devices.copy_async(reinterpret_cast<void*>(variable.ours),
                                          reinterpret_cast<const void*>(variable.theirs.address), variable.theirs.size,
                                          kOnDevice, stream);
    if (status != 0) return status;
  }
  return 0;
}

Error without_variable(const std::string& name, const std::string& error) {
  return Error::of("the variant's device variable '{}' is not to be found: {}", name, error);
}

std::vector<void*> argument_list(const bundle::KernelInfo& kernel, const LaunchRequest& request) {
  std::optional<std::vector<void*>> list = objects::argument_list(kernel.arguments, request.arguments);
  if (!list) throw Error("it was launched without its arguments");
  return *std::move(list);
}

}  // namespace mneme::record
