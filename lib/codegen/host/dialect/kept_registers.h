// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registers that keep a value from one statement of inline assembly to another one, in whatever function: a work-item
// has one of each, wherever in the kernel it is.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "bundle/format.h"

namespace mneme::codegen::host {

enum class Kept {
  kCarry,  // PTX's flag CC.CF, an i1, where programs with long numbers have functions of one instruction each
  kM0,     // of AMD's: where loads to shared memory put what they load, a pointer to it
};

// The register as assembly left it last; and how it leaves it.
llvm::Value* read_kept(llvm::IRBuilderBase& builder, Kept which);
void write_kept(llvm::IRBuilderBase& builder, Kept which, llvm::Value* value);

// Keeps them in local variables.
//
//   call void @mneme.carry.write(i1 %c)          store i1 %c, ptr %flag
//   %d = call i1 @mneme.carry.read()      ──▶    %d = load i1, ptr %flag
//
// Relies on inlining. Throws Error where a function that could not be
// inlined reads one that it does not write: it is to have it of its caller.
void place_kept_registers(llvm::Module& module, const bundle::KernelInfo& kernel);

}  // namespace mneme::codegen::host
