// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/hip/runtime.h"

namespace mneme::device::hip {

// A kernel's code on the GPU.
class LoadedModule final : public Code {
 public:
  LoadedModule(const bundle::KernelInfo& kernel, Bytes code);
  ~LoadedModule() override;

  const std::string& kernel() const { return kernel_; }
  const std::vector<bundle::Argument>& arguments() const { return arguments_; }
  Function* function() const { return function_; }

  struct Variable {
    uint64_t address = 0;
    size_t size = 0;  // bytes
  };
  // A sentence, if its functions have other addresses than those that the recorded memory has for them; else empty.
  const std::string& misplaced() const { return misplaced_; }

  // nullopt: the code has none of that name.
  std::optional<Variable> variable(const std::string& name) const;

 private:
  void find_function(const bundle::KernelInfo& kernel);
  void compare_addresses(const bundle::KernelInfo& kernel);

  std::string kernel_;
  std::vector<bundle::Argument> arguments_;
  std::string image_;  // the runtime may keep on reading it
  std::string misplaced_;
  Module* module_ = nullptr;
  Function* function_ = nullptr;
};

}  // namespace mneme::device::hip
