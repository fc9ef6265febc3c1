// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/gpu/gpu.h"
#include "device/moved_globals.h"

namespace mneme::device::gpu {

// A kernel's code on a GPU.
class LoadedCode : public Code {
 public:
  explicit LoadedCode(const bundle::KernelInfo& kernel) : kernel_(kernel.demangled), arguments_(kernel.arguments) {}

  const std::string& kernel() const { return kernel_; }
  // Where each argument is in the recorded bytes, for as long as these are there. Not all bytes at once: ptxas puts
  // what is aligned to more than 16 elsewhere than the recording has it. Throws Error if there are too few.
  std::vector<void*> values_in(std::string& arguments) const;

  struct Variable {
    uint64_t address = 0;
    size_t size = 0;  // bytes
  };
  // nullopt: the code has none of that name.
  virtual std::optional<Variable> variable(const std::string& name) const = 0;

  // The launch's variables, and functions, that are elsewhere in this code than they were recorded.
  Moves moves(const Launch& launch) const;
  // Between where variables were recorded and where the loader placed them. One that the code does not have it does not
  // use.
  void copy_variables(Gpu& gpu, const Launch& launch, bool to_code) const;

 protected:
  // Where the function is whose address the recorded memory may hold; 0: nothing in this code takes its address.
  uint64_t address_of(Gpu& gpu, const std::string& function) const;

  std::vector<Move> functions_;  // that are elsewhere

 private:
  std::string kernel_;
  std::vector<bundle::Argument> arguments_;
};

}  // namespace mneme::device::gpu
