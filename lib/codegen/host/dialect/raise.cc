// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/dialect/raise.h"

#include <llvm/TargetParser/Triple.h>

#include "base/error.h"
#include "codegen/host/dialect/amdgpu/raise.h"
#include "codegen/host/dialect/nvptx/raise.h"

namespace mneme::codegen::host {
namespace {

constexpr uint32_t kMostThreads = 1024;  // of any block, on either vendor's GPUs

}  // namespace

void raise(llvm::Module& module, const bundle::KernelInfo& kernel, bool fuse) {
  raise_kernel_heap(module);
  llvm::Triple triple(module.getTargetTriple());
  if (triple.isAMDGPU()) return raise_amdgpu(module, kernel, fuse);
  if (triple.isNVPTX()) return raise_nvptx(module, kernel, fuse);
  throw Error::of("the IR of kernel '{}' is for '{}', which the host device cannot run", kernel.demangled,
                  module.getTargetTriple());
}

uint32_t most_threads(const llvm::Module& module, const bundle::KernelInfo& kernel) {
  const llvm::Function* function = module.getFunction(kernel.name);
  if (!function) return kMostThreads;  // refused later
  if (llvm::Triple(module.getTargetTriple()).isNVPTX()) return launch_bound(*function).value_or(kMostThreads);
  uint32_t most = kMostThreads;
  llvm::StringRef bounds = function->getFnAttribute("amdgpu-flat-work-group-size").getValueAsString();
  return bounds.split(',').second.getAsInteger(10, most) ? kMostThreads : most;
}

}  // namespace mneme::codegen::host
