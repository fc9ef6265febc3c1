// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>

namespace mneme::codegen::host {

// Elementary functions by their name in C (exp, pow, …) and type (half, float, double).
bool has_elementary(llvm::StringRef name, const llvm::Type& type);
llvm::Value* call_elementary(llvm::IRBuilderBase& builder, llvm::StringRef name,
                             llvm::ArrayRef<llvm::Value*> arguments);

// Replaces a call of an intrinsic of LLVM's or AMDGPU's that has no equal on the host, if it is a mathematical one.
void raise_math_intrinsic(llvm::IntrinsicInst& call);

// Which NaN comes out of a long computation depends on the order of operands: from such a function it is always the
// same one.
void settle_nan(llvm::Function& function);

}  // namespace mneme::codegen::host
