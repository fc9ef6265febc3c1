// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/module.h"

#include <array>

#include "base/error.h"
#include "objects/function_address.h"
#include "objects/ptx_name.h"

namespace mneme::device::cuda {

LoadedModule::LoadedModule(const bundle::KernelInfo& kernel, Bytes code)
    : kernel_(kernel.demangled), arguments_(kernel.arguments) {
  std::string image(text_of(code));  // PTX has to end with a zero
  std::array<char, 4096> log{};
  std::array<int, 2> options = {kErrorLogBuffer, kErrorLogSize};
  std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(log.size())};
  Result result = driver().cuModuleLoadDataEx(&module_, image.c_str(), static_cast<unsigned>(options.size()),
                                              options.data(), values.data());
  if (result != 0 && log[0]) {
    bool text = image.find(".version") != std::string::npos;
    throw Error::of("kernel '{}': the driver cannot {}: {}", kernel_, text ? "compile its PTX" : "load its code",
                    log.data());
  }
  check(result, ("loading the code of kernel '" + kernel_ + "'").c_str());
  result = driver().cuModuleGetFunction(&function_, module_, kernel.name.c_str());
  if (result != 0) {
    driver().cuModuleUnload(module_);
    throw Error::of("the code of kernel '{}' has no function '{}'", kernel_, kernel.name);
  }
  compare_addresses(kernel);
}

std::vector<void*> LoadedModule::values_in(std::string& arguments) const {
  std::vector<void*> values;
  for (const bundle::Argument& argument : arguments_) values.push_back(arguments.data() + argument.offset);
  return values;
}

// The assembler may have its own mind about them.
void LoadedModule::compare_addresses(const bundle::KernelInfo& kernel) {
  for (const std::string& name : kernel.functions) {
    uint64_t recorded = objects::recorded_address(kernel, name), address = 0;
    std::optional<Variable> holder;
    if (recorded) holder = variable(objects::address_symbol(name));
    if (!holder || holder->size != sizeof address) continue;
    check(driver().cuMemcpyDtoH_v2(&address, holder->address, sizeof address), "reading a function's address");
    if (address == recorded) continue;
    misplaced_ = fmt::format(
        "kernel '{}': the function '{}' was at {:#x} when it was recorded and is at {:#x} in this code, so that "
        "pointers "
        "to functions in the recorded memory lead elsewhere",
        kernel_, name, recorded, address);
    return;
  }
}

LoadedModule::~LoadedModule() { driver().cuModuleUnload(module_); }

std::optional<LoadedModule::Variable> LoadedModule::variable(const std::string& name) const {
  Variable found;
  Result result = driver().cuModuleGetGlobal_v2(&found.address, &found.size, module_, objects::ptx_name(name).c_str());
  if (result == kNotFound) return std::nullopt;
  check(result, ("looking for the variable '" + name + "'").c_str());
  return found;
}

}  // namespace mneme::device::cuda
