// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/PassManager.h>

namespace mneme::codegen::host {

// `if (threadIdx.x < n) …` makes a loop over work-items do nothing from n on. Such a loop is made to end there, and its
// body no longer asks: it vectorises without masks.
//
//   for (t = 0; t < 256; ++t) if (t < n) body   ──▶   for (t = 0; t < min(256, n); ++t) body
//
// Relies on loops as match_counted_loop (iteration_range.h) knows them. Runs before the vectoriser.
class TrimLoops : public llvm::PassInfoMixin<TrimLoops> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace mneme::codegen::host
