// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What setp and set compare by.
#pragma once
#include "codegen/ptx/instruction.h"

namespace mneme::codegen::ptx {

// "lt" of numbers of that type. Nothing: they have no such comparison.
std::optional<llvm::CmpInst::Predicate> predicate_named(llvm::StringRef name, const PtxType& type);

// "and", "or", "xor": with a further predicate.
llvm::Value* combine(llvm::IRBuilderBase& builder, llvm::StringRef operation, llvm::Value* a, llvm::Value* b);

}  // namespace mneme::codegen::ptx
