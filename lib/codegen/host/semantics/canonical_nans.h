// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>

namespace mneme::codegen::host {

// LLVM leaves the sign and payload of a NaN open that an operation makes: folding makes another one than the processor,
// and which operand's NaN comes out depends on the order that code generation chose. Here each operation makes the same
// NaN, whatever the level and form:
//
//     store float (fadd x, y)    ──▶    store float (select (fcmp uno (fadd x, y)), NaN, (fadd x, y))
//
// That is done where bits can be seen: not for results that only go into other operations. Values that are copied keep
// their bits, and so do those whose sign alone is changed.
void canonicalize_nans(llvm::Module& module);

// Of functions whose results are NaNs or not by their arguments alone: only what they return is made canonical.
void canonicalize_results(llvm::Function& function);

// Atomic updates of floating-point numbers as loops that compare and exchange, so that what they store is canonical.
void canonicalize_atomics(llvm::Module& module);

// Drops what canonicalize_nans added where optimisation has shown that nothing sees the bits, and moves it out of
// loops: local variables have become values, and sums that a loop carries are seen behind it only.
void sink_nan_checks(llvm::Module& module);

struct SinkNanChecks : llvm::PassInfoMixin<SinkNanChecks> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

}  // namespace mneme::codegen::host
