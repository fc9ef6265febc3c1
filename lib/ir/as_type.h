// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/IRBuilder.h>

namespace mneme::ir {

// A value of one type, seen as another: numbers by their bits, addresses as numbers, pointers in another address space.
// What is wider loses its upper bits; a narrower integer is extended with zeros, or as `is_signed` says.
llvm::Value* as_type(llvm::IRBuilderBase& builder, llvm::Value* value, llvm::Type* type, bool is_signed = false);

}  // namespace mneme::ir
