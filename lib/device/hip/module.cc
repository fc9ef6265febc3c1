// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/hip/module.h"

#include "base/error.h"
#include "objects/function_address.h"

namespace mneme::device::hip {

LoadedModule::LoadedModule(const bundle::KernelInfo& kernel, Bytes code)
    : kernel_(kernel.demangled), arguments_(kernel.arguments), image_(text_of(code)) {
  check(runtime().hipModuleLoadData(&module_, image_.data()), ("loading the code of kernel '" + kernel_ + "'").c_str());
  try {
    find_function(kernel);
    compare_addresses(kernel);
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

// The assembler may have its own mind about them.
void LoadedModule::compare_addresses(const bundle::KernelInfo& kernel) {
  for (const std::string& name : kernel.functions) {
    uint64_t recorded = objects::recorded_address(kernel, name), address = 0;
    std::optional<Variable> holder;
    if (recorded) holder = variable(objects::address_symbol(name));
    if (!holder || holder->size != sizeof address) continue;
    check(runtime().hipMemcpy(&address, pointer_to(holder->address), sizeof address, kCopyAnyWay),
          "reading a function's address");
    if (address == recorded) continue;
    misplaced_ = fmt::format(
        "kernel '{}': the function '{}' was at {:#x} when it was recorded and is at {:#x} in this code, so that "
        "pointers to functions in the recorded memory lead elsewhere",
        kernel_, name, recorded, address);
    return;
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
