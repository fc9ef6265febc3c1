// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/PassManager.h>

namespace mneme::codegen::host {

// `threadIdx.x < n ? in[i] : 0` asks the same of each work-item of a loop over them. Such a loop is made two: up to
// where the answer changes, and from there on, so that neither has to ask, nor to access memory under a mask. Only for
// loops with one such question, where memory depends on the answer. Runs before the vectoriser, behind TrimLoops.
struct SplitLoops : llvm::PassInfoMixin<SplitLoops> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace mneme::codegen::host
