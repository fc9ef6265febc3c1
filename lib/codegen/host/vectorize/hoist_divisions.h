// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/PassManager.h>

namespace mneme::codegen::host {

// Divisions of and by what is the same in all iterations of a loop leave the loop even where they stand under a
// condition; a divisor that would trap is replaced. LLVM 19's vectoriser otherwise computes such a division for the
// first of the iterations that it puts side by side only, and only if that one meets the condition.
//
//   for (i…) if (c[i]) o[i] = n / d   ──▶   q = n / (d ? d : 1); for (i…) if (c[i]) o[i] = q
//
// Relies on loops in simplified form. Runs before the vectoriser.
struct HoistDivisions : llvm::PassInfoMixin<HoistDivisions> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace mneme::codegen::host
