// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX's flag for carries (CC.CF) from one statement of inline assembly to another one, where programs with long numbers
// have functions of one instruction each. The work-item has one flag, wherever in the kernel it is.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "bundle/format.h"

namespace mneme::codegen::host {

// The flag as assembly left it last, an i1; and how it leaves it.
llvm::Value* read_carry(llvm::IRBuilderBase& builder);
void write_carry(llvm::IRBuilderBase& builder, llvm::Value* carry);

// Keeps the flag in a local variable.
//
//   call void @mneme.carry.write(i1 %c)          store i1 %c, ptr %flag
//   %d = call i1 @mneme.carry.read()      ──▶    %d = load i1, ptr %flag
//
// Relies on inlining. Throws Error where a function that could not be inlined adds one and gives none: it is to have it
// of its caller.
void place_carries(llvm::Module& module, const bundle::KernelInfo& kernel);

}  // namespace mneme::codegen::host
