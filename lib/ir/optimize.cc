// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/optimize.h"

#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/Error.h>

#include "base/error.h"

namespace mneme::ir {
namespace {

// Vectorisers on, as clang has them at -O2 and above.
llvm::PipelineTuningOptions tuning() {
  llvm::PipelineTuningOptions options;
  options.LoopVectorization = true;
  options.SLPVectorization = true;
  options.LoopInterleaving = true;
  options.LoopUnrolling = true;
  return options;
}

llvm::ModulePassManager parse(llvm::PassBuilder& builder, const std::string& passes) {
  llvm::ModulePassManager manager;
  if (llvm::Error error = builder.parsePassPipeline(manager, passes)) {
    throw Error::of("LLVM rejects the pipeline '{}': {}", passes, llvm::toString(std::move(error)));
  }
  return manager;
}

// A loop with `#pragma unroll` that cannot be unrolled: clang said so, with its place, when the application was built.
struct WithoutLoopsLeftAlone : llvm::DiagnosticHandler {
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    return info.getKind() == llvm::DK_OptimizationFailure;
  }
};

}  // namespace

void optimize(llvm::Module& module, const std::string& passes, llvm::TargetMachine* machine,
              const Extension& extension) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine, tuning());
  if (extension) extension(builder);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  module.getContext().setDiagnosticHandler(std::make_unique<WithoutLoopsLeftAlone>());
  parse(builder, passes).run(module, modules);
}

void check_pipeline(const std::string& passes) {
  llvm::PassBuilder builder;
  parse(builder, passes);
}

}  // namespace mneme::ir
