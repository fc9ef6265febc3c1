// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "device/cuda/driver.h"
#include "device/device.h"

namespace mneme::device::cuda {

// A kernel's code on the GPU.
class LoadedModule final : public Code {
 public:
  // PTX or a cubin. Throws Error with what the driver's compiler says.
  LoadedModule(const bundle::KernelInfo& kernel, Bytes code);
  ~LoadedModule() override;

  const std::string& kernel() const { return kernel_; }
  Function* function() const { return function_; }
  // Where each argument is in the recorded bytes, which are as many as the kernel has, for as long as these are there.
  // Not all bytes at once: ptxas puts what is aligned to more than 16 elsewhere than the recording has it.
  std::vector<void*> values_in(std::string& arguments) const;

  struct Variable {
    Address address = 0;
    size_t size = 0;  // bytes
  };
  // A sentence, if its functions have other addresses than those that the recorded memory has for them; else empty.
  const std::string& misplaced() const { return misplaced_; }

  // nullopt: the code has none of that name.
  std::optional<Variable> variable(const std::string& name) const;

 private:
  void compare_addresses(const bundle::KernelInfo& kernel);

  std::string kernel_;
  std::string misplaced_;
  std::vector<bundle::Argument> arguments_;
  Module* module_ = nullptr;
  Function* function_ = nullptr;
};

}  // namespace mneme::device::cuda
