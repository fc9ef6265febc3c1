// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the lanes of a warp do together, on values: wave.cc's, for instructions and intrinsics.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <utility>

namespace mneme::codegen::host {

inline constexpr uint32_t kWarpSize = 32;

// The lanes that are here, a bit each (i32).
llvm::Value* lanes_here(llvm::IRBuilderBase& builder);

// shfl: a value of 32 bits from another lane, and whether there is such a lane; one's own if not. `from` is the lane,
// or how far away it is; `clamp` has the limit of the lane in its low five bits and which bits of a lane name its
// segment in those from 8 on.
enum class Shuffle { kIndex, kUp, kDown, kButterfly };
std::pair<llvm::Value*, llvm::Value*> shuffle(llvm::IRBuilderBase& builder, Shuffle mode, llvm::Value* value,
                                              llvm::Value* from, llvm::Value* clamp);

// vote: of the lanes that are here and in the mask, whose bits say which brought `true` (a mask itself), or i1.
llvm::Value* vote_ballot(llvm::IRBuilderBase& builder, llvm::Value* mask, llvm::Value* condition);
llvm::Value* vote_any(llvm::IRBuilderBase& builder, llvm::Value* mask, llvm::Value* condition);
llvm::Value* vote_all(llvm::IRBuilderBase& builder, llvm::Value* mask, llvm::Value* condition);
llvm::Value* vote_uniform(llvm::IRBuilderBase& builder, llvm::Value* mask, llvm::Value* condition);

// match.any: the lanes of the mask with the same value. Needs an instruction that the builder stands before.
llvm::Value* match_any(llvm::IRBuilderBase& builder, llvm::Value* mask, llvm::Value* value);
// match.all: the mask, if all its lanes have the same value, else zero; and whether they have.
std::pair<llvm::Value*, llvm::Value*> match_all(llvm::IRBuilderBase& builder, llvm::Value* mask, llvm::Value* value);

// redux: one value (i32) out of those of the mask's lanes, for each of them. As match_any.
llvm::Value* reduce_warp(llvm::IRBuilderBase& builder, llvm::Value* mask, llvm::Value* value,
                         llvm::function_ref<llvm::Value*(llvm::Value*, llvm::Value*)> operation);

}  // namespace mneme::codegen::host
