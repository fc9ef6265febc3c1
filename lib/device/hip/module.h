// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "device/gpu/loaded_code.h"
#include "device/hip/runtime.h"

namespace mneme::device::hip {

class LoadedModule final : public gpu::LoadedCode {
 public:
  LoadedModule(gpu::Gpu& gpu, const bundle::KernelInfo& kernel, Bytes code);

  Function* function() const { return function_; }
  // Whether the kernel allocates memory itself: from a heap that the runtime has elsewhere.
  bool allocates() const { return allocates_; }
  std::optional<Variable> variable(const std::string& name) const override;

 private:
  void find_function(const std::string& name);
  void find_pointed_functions(gpu::Gpu& gpu, const bundle::KernelInfo& kernel);

  struct Unload {
    void operator()(Module* module) const { runtime().hipModuleUnload(module); }
  };
  bool allocates_;
  std::string image_;  // the runtime may keep on reading it
  std::unique_ptr<Module, Unload> module_;
  Function* function_ = nullptr;
};

}  // namespace mneme::device::hip
