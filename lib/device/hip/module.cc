// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/hip/module.h"

#include "base/error.h"
#include "objects/function_address.h"

namespace mneme::device::hip {

LoadedModule::LoadedModule(gpu::Gpu& gpu, const bundle::KernelInfo& kernel, Bytes code)
    : LoadedCode(kernel), allocates_(bundle::uses(kernel, bundle::kDeviceHeap)), image_(text_of(code)) {
  Module* module = nullptr;
  check(runtime().hipModuleLoadData(&module, image_.data()),
        ("loading the code of kernel '" + this->kernel() + "'").c_str());
  module_.reset(module);
  find_function(kernel.name);
  find_pointed_functions(gpu, kernel);
}

void LoadedModule::find_function(const std::string& name) {
  const Result result = runtime().hipModuleGetFunction(&function_, module_.get(), name.c_str());
  if (result == kNotFound) throw Error::of("the code of kernel '{}' has no function '{}'", kernel(), name);
  check(result, ("looking for the function of kernel '" + kernel() + "'").c_str());
}

// What the code has no variable for is none of its functions any more: nothing there takes its address.
void LoadedModule::find_pointed_functions(gpu::Gpu& gpu, const bundle::KernelInfo& kernel) {
  for (const std::string& name : kernel.functions) {
    const uint64_t address = address_of(gpu, name), recorded = objects::recorded_or_made_address(kernel, name);
    if (address != 0 && address != recorded) functions_.push_back({recorded, 0, address});
  }
}

std::optional<LoadedModule::Variable> LoadedModule::variable(const std::string& name) const {
  void* address = nullptr;
  size_t size = 0;
  const Result result = runtime().hipModuleGetGlobal(&address, &size, module_.get(), name.c_str());
  if (result == kNotFound) {
    static_cast<void>(runtime().hipGetLastError());
    return std::nullopt;
  }
  check(result, ("looking for the variable '" + name + "'").c_str());
  return Variable{reinterpret_cast<uint64_t>(address), size};
}

}  // namespace mneme::device::hip
