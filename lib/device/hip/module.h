// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/hip/runtime.h"
#include "device/moved_globals.h"

namespace mneme::device::hip {

// A kernel's code on the GPU.
class LoadedModule final : public Code {
 public:
  LoadedModule(const bundle::KernelInfo& kernel, Bytes code);
  ~LoadedModule() override;

  const std::string& kernel() const { return kernel_; }
  const std::vector<bundle::Argument>& arguments() const { return arguments_; }
  Function* function() const { return function_; }
  // Whether the kernel allocates memory itself: from a heap that the runtime has elsewhere.
  bool allocates() const { return allocates_; }

  struct Variable {
    uint64_t address = 0;
    size_t size = 0;  // bytes
  };
  // Its functions whose addresses the recorded memory may hold: where each is for the recording, and here.
  const std::vector<Move>& functions() const { return functions_; }

  // nullopt: the code has none of that name.
  std::optional<Variable> variable(const std::string& name) const;

 private:
  void find_function(const bundle::KernelInfo& kernel);
  void find_pointed_functions(const bundle::KernelInfo& kernel);

  std::string kernel_;
  std::vector<bundle::Argument> arguments_;
  bool allocates_;
  std::string image_;  // the runtime may keep on reading it
  std::vector<Move> functions_;
  Module* module_ = nullptr;
  Function* function_ = nullptr;
};

}  // namespace mneme::device::hip
