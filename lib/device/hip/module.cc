// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/hip/module.h"

#include "base/error.h"
#include "objects/function_address.h"

namespace mneme::device::hip {

LoadedModule::LoadedModule(const bundle::KernelInfo& kernel, Bytes code)
    : kernel_(kernel.demangled),
      arguments_(kernel.arguments),
      allocates_(bundle::uses(kernel, bundle::kDeviceHeap)),
      image_(text_of(code)) {
  check(runtime().hipModuleLoadData(&module_, image_.data()), ("loading the code of kernel '" + kernel_ + "'").c_str());
  try {
    find_function(kernel);
    find_pointed_functions(kernel);
  } catch (...) {
    runtime().hipModuleUnload(module_);
    throw;
  }
}

LoadedModule::~LoadedModule() { runtime().hipModuleUnload(module_); }

void LoadedModule::find_function(const bundle::KernelInfo& kernel) {
  const Result result = runtime().hipModuleGetFunction(&function_, module_, kernel.name.c_str());
  if (result == kNotFound) throw Error::of("the code of kernel '{}' has no function '{}'", kernel_, kernel.name);
  check(result, ("looking for the function of kernel '" + kernel_ + "'").c_str());
}

// What the code has no variable for is none of its functions any more: nothing there takes its address.
void LoadedModule::find_pointed_functions(const bundle::KernelInfo& kernel) {
  for (const std::string& name : kernel.functions) {
    std::optional<Variable> holder = variable(objects::address_symbol(name));
    uint64_t address = 0;
    if (!holder || holder->size != sizeof address) continue;
    check(runtime().hipMemcpy(&address, pointer_to(holder->address), sizeof address, kCopyAnyWay),
          "reading a function's address");
    const uint64_t recorded = objects::recorded_or_made_address(kernel, name);
    if (address != 0 && address != recorded) functions_.push_back({recorded, 0, address});
  }
}

std::optional<LoadedModule::Variable> LoadedModule::variable(const std::string& name) const {
  void* address = nullptr;
  size_t size = 0;
  const Result result = runtime().hipModuleGetGlobal(&address, &size, module_, name.c_str());
  if (result == kNotFound) {
    static_cast<void>(runtime().hipGetLastError());
    return std::nullopt;
  }
  check(result, ("looking for the variable '" + name + "'").c_str());
  return Variable{reinterpret_cast<uint64_t>(address), size};
}

}  // namespace mneme::device::hip
