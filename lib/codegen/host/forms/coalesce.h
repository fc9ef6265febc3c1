// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Instructions.h>

#include <vector>

namespace mneme::codegen::host {

// Puts together values of one type that can share a variable, of which no two are wanted at the same time: a phi and
// what it is made of, as the values of one variable of the source.
//
//   %i = phi [ 0, %entry ], [ %next, %loop ]; %next = add %i, 1   ──▶   one slot for %i and %next
//
// Of two that `may` does not allow to share, none do.
std::vector<std::vector<llvm::Instruction*>> coalesce(
    const std::vector<llvm::Instruction*>& values,
    llvm::function_ref<bool(llvm::Instruction&, llvm::Instruction&)> may);

}  // namespace mneme::codegen::host
