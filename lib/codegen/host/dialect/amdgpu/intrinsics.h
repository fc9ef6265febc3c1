// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The groups of AMDGPU's intrinsics, each in a file of its own.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <optional>

#include "bundle/format.h"

namespace mneme::codegen::host {

// What takes a call's place, built where the builder stands, before the call; null for a call without a value.
// Nothing: not one of the group's.
using Raised = std::optional<llvm::Value*>;

Raised raise_launch_intrinsic(llvm::IRBuilderBase& builder, llvm::CallInst& call, const bundle::KernelInfo& kernel);
Raised raise_wave_intrinsic(llvm::IRBuilderBase& builder, llvm::CallInst& call, uint32_t wave_size);
Raised raise_atomic_intrinsic(llvm::IRBuilderBase& builder, llvm::CallInst& call, uint32_t wave_size);
Raised raise_integer_intrinsic(llvm::IRBuilderBase& builder, llvm::CallInst& call);
Raised raise_float_intrinsic(llvm::IRBuilderBase& builder, llvm::CallInst& call);
Raised raise_matrix_intrinsic(llvm::IRBuilderBase& builder, llvm::CallInst& call, uint32_t wave_size);

// The lanes that are here, a bit each; and how many of a mask's lanes are below this one.
llvm::Value* active_lanes(llvm::IRBuilderBase& builder);
llvm::Value* count_below(llvm::IRBuilderBase& builder, llvm::Value* mask, uint32_t wave_size);

}  // namespace mneme::codegen::host
