// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Function.h>

namespace mneme::codegen::host {

// Each region (regions.h) has a copy of all that can be reached from where it begins up to the next place. Where ways
// of several join and much code follows, such as at the head of a large loop with a barrier in it, `mneme.joint`
// (neutral.h) begins a region of its own, which they then share.
void share_code(llvm::Function& item);

}  // namespace mneme::codegen::host
