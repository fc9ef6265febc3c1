// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/PassManager.h>

namespace mneme::codegen::host {

// `threadIdx.x < n ? in[i] : 0` asks the same of each work-item of a loop over them. Such a loop is made two, so that
// neither has to ask, nor to access memory under a mask:
//
//   for (t = 0; t < 256; ++t) x = t < n ? in[t] : 0   ──▶   for (t = 0; t < n; ++t) x = in[t]
//                                                           for (; t < 256; ++t) x = 0
//
// Only for loops with one such question, where memory depends on the answer. Relies on TrimLoops, behind which it runs,
// before the vectoriser.
struct SplitLoops : llvm::PassInfoMixin<SplitLoops> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace mneme::codegen::host
