// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Function.h>

namespace mneme::codegen::host {

// Each region (regions.h) has a copy of all that can be reached from where it begins up to the next collective. Where
// control flow of several joins and much code follows, such as at the head of a large loop with a barrier in it,
// `mneme.joint` (neutral.h) begins a region of its own, which they then share:
//
//   region 1: a, c          region 1: a ─┐
//   region 2: b, c   ──▶    region 2: b ─┴▶ region 3: c
//
// Relies on the work-item function (lower.h), before it is cut.
void share_code(llvm::Function& item);

}  // namespace mneme::codegen::host
