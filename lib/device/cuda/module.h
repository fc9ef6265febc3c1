// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "device/cuda/driver.h"
#include "device/gpu/loaded_code.h"

namespace mneme::device::cuda {

class LoadedModule final : public gpu::LoadedCode {
 public:
  // PTX or a cubin. Throws Error with what the driver's compiler says.
  LoadedModule(gpu::Gpu& gpu, const bundle::KernelInfo& kernel, Bytes code);

  Function* function() const { return function_; }
  // A sentence, if its functions have other addresses than those that the recorded memory has for them; else empty.
  const std::string& misplaced() const { return misplaced_; }
  std::optional<Variable> variable(const std::string& name) const override;

 private:
  void load(std::string image);  // PTX has to end with a zero
  void compare_addresses(gpu::Gpu& gpu, const bundle::KernelInfo& kernel);

  struct Unload {
    void operator()(Module* module) const { driver().cuModuleUnload(module); }
  };
  std::string misplaced_;
  std::unique_ptr<Module, Unload> module_;
  Function* function_ = nullptr;
};

}  // namespace mneme::device::cuda
