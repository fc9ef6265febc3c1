// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel was compiled for, made something else: recorded IR holds the device libraries with constants that say
// which processor it is (__oclc_ISA_version), how wide its waves are, and where the launch's dimensions lie.
#pragma once
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include "bundle/format.h"
#include "codegen/amdgpu/target_id.h"

namespace mneme::codegen::amdgpu {

// What the IR is to be compiled as.
struct Goal {
  TargetId target;
  uint32_t wave_size = 64;
  uint32_t code_object = 0;  // version: 400, 500, 600
  std::string recorded;      // processor that the IR was compiled for
  std::string features;      // that its functions are compiled with, besides their own where the processor stays
};

// Of the kernel in its own module. Throws Error for what that processor cannot be, or this kernel not on it.
Goal goal_of(const llvm::Module& module, const bundle::KernelInfo& info, const bundle::Configuration& configuration,
             const TargetId& target);

// The same IR for the same processor stays as it is.
void retarget(llvm::Module& module, const bundle::KernelInfo& info, const Goal& goal);

// After optimisation, when what is meant for other processors is gone: throws Error where the code has operations that
// the back end takes, but which the processor lacks (it makes code of some for gfx940 that no GPU knows), or which do
// something else there than on the recorded one.
void refuse_foreign_operations(const llvm::Module& module, const bundle::KernelInfo& info, const Goal& goal,
                               const llvm::MCSubtargetInfo& processor);

}  // namespace mneme::codegen::amdgpu
