// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How instructions of PTX round.
#pragma once
#include "codegen/host/dialect/nvptx/ptx/ptx.h"

namespace mneme::codegen::host {

enum class Rounding { kNearest, kTowardsZero, kDown, kUp };

// .rn, .rz, .rm, .rp; nothing: none of them.
std::optional<Rounding> take_rounding(PtxName& name);

// One of math/rounded.c's functions: `name` of a number of `type`, rounded otherwise than to nearest.
llvm::Value* call_rounded(llvm::IRBuilderBase& builder, llvm::StringRef name, llvm::Type* type,
                          llvm::ArrayRef<llvm::Value*> arguments, Rounding rounding);

// Small numbers as float, exactly; others as they are.
llvm::Value* widen(llvm::IRBuilderBase& builder, llvm::Value* x, const PtxType& type);
// A float as a number of `type`, which may be smaller.
llvm::Value* narrow(llvm::IRBuilderBase& builder, llvm::Value* x, const PtxType& type,
                    Rounding rounding = Rounding::kNearest);

// .sat: limited to [0, 1], NaN to 0. And .relu: what is negative becomes 0.
llvm::Value* saturate(llvm::IRBuilderBase& builder, llvm::Value* x);
llvm::Value* rectify(llvm::IRBuilderBase& builder, llvm::Value* x);

}  // namespace mneme::codegen::host
