// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/PassManager.h>

namespace mneme::codegen::host {

// `if (threadIdx.x < n) …` makes a loop over work-items do nothing from n on. Such a loop is made to end
// there, and its body no longer asks: what is left vectorises without masks. Runs before the vectoriser.
class TrimLoops : public llvm::PassInfoMixin<TrimLoops> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace mneme::codegen::host
