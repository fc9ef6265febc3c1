// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

// The floating-point number, or numbers, with zeros of the same sign for those that are denormal.
llvm::Value* flush(llvm::IRBuilderBase& builder, llvm::Value* x);

// GPUs have a mode in which arithmetic on floats takes denormal numbers for zeros and gives none; doubles and half
// precision keep them. The host's processor has one mode for floats and doubles. So code that was compiled for that
// mode
// (-fgpu-flush-denormals-to-zero: the attribute denormal-fp-math-f32) says so in instructions from here on:
//
//   %c = fmul float %a, %b   ──▶   %c = flush(fmul(flush(%a), flush(%b)))
//
// Functions that go by their caller's mode go by the kernel's; those whose names begin with `but_not` stay as they are.
// Relies on the function attributes, which flatten_address_spaces drops.
void flush_denormals(llvm::Module& module, const llvm::Function& kernel, llvm::StringRef but_not = {});

}  // namespace mneme::codegen::host
