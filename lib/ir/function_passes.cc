// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/function_passes.h"

#include <llvm/Passes/PassBuilder.h>

namespace mneme::ir {

void run_passes(llvm::FunctionPassManager& passes, llvm::Function& function) {
  llvm::PassBuilder builder;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  passes.run(function, functions);
}

}  // namespace mneme::ir
