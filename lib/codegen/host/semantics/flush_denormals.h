// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

// The floating-point number, or numbers, with zeros of the same sign for those that are denormal.
llvm::Value* flush(llvm::IRBuilderBase& builder, llvm::Value* x);

// GPUs have a mode in which arithmetic takes denormal floats for zeros and gives none; that of doubles and of half
// precision keeps them. The host's processor has one for floats and doubles alike. So where code was compiled for that
// mode (-fgpu-flush-denormals-to-zero: the attribute denormal-fp-math-f32), it says so in instructions from here on.
// Functions that go by their caller's mode go by the kernel's; those whose names begin with `but_not` stay as they are.
void flush_denormals(llvm::Module& module, const llvm::Function& kernel, llvm::StringRef but_not = {});

}  // namespace mneme::codegen::host
