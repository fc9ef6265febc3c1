// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/dialect/amdgpu/raise.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "base/error.h"
#include "codegen/host/dialect/amdgpu/gcn/gcn.h"
#include "codegen/host/dialect/steps.h"
#include "codegen/host/neutral/function_addresses.h"
#include "codegen/host/neutral/neutral.h"
#include "codegen/host/semantics/flush_denormals.h"
#include "codegen/host/semantics/saturate_conversions.h"

namespace mneme::codegen::host {
namespace {

void raise_intrinsics(llvm::Module& module, const bundle::KernelInfo& kernel) {
  for (llvm::Function& intrinsic : llvm::make_early_inc_range(module)) {
    llvm::StringRef name = intrinsic.getName();
    if (!intrinsic.isDeclaration() || operation_of(intrinsic)) continue;
    bool vendor = name.starts_with("llvm.amdgcn.") || name.starts_with("llvm.r600.") ||
                  intrinsic.getIntrinsicID() == llvm::Intrinsic::read_register;
    if (vendor) {
      for (llvm::User* user : llvm::make_early_inc_range(intrinsic.users())) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(user);
        if (!call || !raise_intrinsic(*call, kernel)) {
          throw Error::of("kernel '{}' uses {}, which the host device does not have", kernel.demangled, name.str());
        }
      }
    } else if (!intrinsic.isIntrinsic() && name.starts_with("__") && !intrinsic.use_empty()) {
      throw Error::of("kernel '{}' calls {}, which the host device does not have", kernel.demangled, name.str());
    }
    if (intrinsic.use_empty()) intrinsic.eraseFromParent();
  }
}

}  // namespace

void refuse_inline_assembly(const llvm::Module& module, const bundle::KernelInfo& kernel) {
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (!call || !call->isInlineAsm()) continue;
      throw Error::of("kernel '{}' uses inline assembly ('{}'), which the host device does not have", kernel.demangled,
                      llvm::cast<llvm::InlineAsm>(call->getCalledOperand())->getAsmString());
    }
  }
}

void raise_amdgpu(llvm::Module& module, const bundle::KernelInfo& kernel, bool fuse) {
  llvm::Function& entry = kernel_in(module, kernel);
  saturate_conversions(module);
  raise_gcn_assembly(module);
  raise_work_item_functions(module);
  raise_wave_functions(module, kernel.wave_size);
  raise_math_functions(module);
  raise_image_functions(module);
  raise_services(module);
  mark_kept(module);
  prune(module, entry);
  refuse_host_calls(module, kernel);
  classify_memory(module, kernel);
  refuse_inline_assembly(module, kernel);
  raise_buffers(module, kernel.wave_size);
  raise_intrinsics(module, kernel);
  raise_shared_pointers(module);
  raise_scopes(module);
  if (!fuse) unfuse(module);
  flush_denormals(module, entry);
}

}  // namespace mneme::codegen::host
