// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/module.h"

#include <array>

#include "base/error.h"
#include "objects/function_address.h"
#include "objects/ptx_name.h"

namespace mneme::device::cuda {

LoadedModule::LoadedModule(gpu::Gpu& gpu, const bundle::KernelInfo& kernel, Bytes code) : LoadedCode(kernel) {
  load(std::string(text_of(code)));
  if (driver().cuModuleGetFunction(&function_, module_.get(), kernel.name.c_str()) != 0) {
    throw Error::of("the code of kernel '{}' has no function '{}'", this->kernel(), kernel.name);
  }
  compare_addresses(gpu, kernel);
}

void LoadedModule::load(std::string image) {
  std::array<char, 4096> log{};
  std::array<int, 2> options = {kErrorLogBuffer, kErrorLogSize};
  std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(log.size())};
  Module* module = nullptr;
  Result result = driver().cuModuleLoadDataEx(&module, image.c_str(), static_cast<unsigned>(options.size()),
                                              options.data(), values.data());
  if (result != 0 && log[0]) {
    bool text = image.find(".version") != std::string::npos;
    throw Error::of("kernel '{}': the driver cannot {}: {}", kernel(), text ? "compile its PTX" : "load its code",
                    log.data());
  }
  check(result, ("loading the code of kernel '" + kernel() + "'").c_str());
  module_.reset(module);
}

// The assembler may have its own mind about them.
void LoadedModule::compare_addresses(gpu::Gpu& gpu, const bundle::KernelInfo& kernel) {
  for (const std::string& name : kernel.functions) {
    const uint64_t recorded = objects::recorded_address(kernel, name), address = recorded ? address_of(gpu, name) : 0;
    if (address == 0 || address == recorded) continue;
    misplaced_ = fmt::format(
        "kernel '{}': the function '{}' was at {:#x} when it was recorded and is at {:#x} in this code, so that "
        "pointers to functions in the recorded memory lead elsewhere",
        this->kernel(), name, recorded, address);
    return;
  }
}

std::optional<LoadedModule::Variable> LoadedModule::variable(const std::string& name) const {
  Address address = 0;
  size_t size = 0;
  Result result = driver().cuModuleGetGlobal_v2(&address, &size, module_.get(), objects::ptx_name(name).c_str());
  if (result == kNotFound) return std::nullopt;
  check(result, ("looking for the variable '" + name + "'").c_str());
  return Variable{address, size};
}

}  // namespace mneme::device::cuda
