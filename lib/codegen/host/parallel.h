// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Function.h>
#include <llvm/IR/Metadata.h>

namespace mneme::codegen::host {

// Between two barriers the work-items of a block are not ordered among each other, so accesses of different
// ones never depend on each other: a loop over work-items is parallel, and LLVM need not prove it. Marks the
// accesses in `item`, but for those that may be to its own stack (which all iterations share) and those that
// are ordered (neutral.h), and returns the loop's metadata.
llvm::MDNode* mark_parallel(llvm::Function& item);

}  // namespace mneme::codegen::host
