// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/optimize.h"

#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/StandardInstrumentations.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/Error.h>
#include <llvm/TargetParser/Triple.h>

#include "base/error.h"
#include "ir/module.h"
#include "ir/pass_gate.h"
#include "ir/plugins.h"
#include "ir/relative_tables.h"

namespace mneme::ir {
namespace {

// At this level LLVM's texts have no vectoriser, and clang has the one that needs no loop.
constexpr char kSmallest[] = "default<Oz>";

// LLVM's texts of levels have vectorisers on where clang has them.
llvm::PipelineTuningOptions pipeline_options(const std::string& passes, const Tuning& tuning) {
  llvm::PipelineTuningOptions options;
  options.LoopVectorization = passes != kSmallest;
  options.SLPVectorization = true;
  options.LoopInterleaving = true;
  options.LoopUnrolling = true;
  if (tuning.inline_threshold) options.InlinerThreshold = static_cast<int>(*tuning.inline_threshold);
  return options;
}

llvm::ModulePassManager parse(llvm::PassBuilder& builder, const std::string& passes) {
  if (passes == kSmallest) return builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::Oz);
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

// An option of LLVM's own, which is there once a process, given a value for as long as this lives.
class LlvmOption {
 public:
  LlvmOption(const char* name, std::optional<uint32_t> value) {
    if (!value) return;
    auto& options = llvm::cl::getRegisteredOptions();
    auto found = options.find(name);
    if (found == options.end()) throw Error::of("this LLVM has no option -{}", name);
    option_ = found->second;
    option_->addOccurrence(0, name, std::to_string(*value));
  }
  ~LlvmOption() {
    if (option_) option_->reset();
  }
  LlvmOption(const LlvmOption&) = delete;
  LlvmOption& operator=(const LlvmOption&) = delete;

 private:
  llvm::cl::Option* option_ = nullptr;
};

}  // namespace

void optimize(llvm::Module& module, const std::string& passes, llvm::TargetMachine* machine, const Extension& extension,
              const Tuning& tuning) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassInstrumentationCallbacks callbacks;
  llvm::OptNoneInstrumentation marked(/*DebugLogging=*/false);
  if (llvm::Triple(module.getTargetTriple()).isNVPTX()) leave_tables_of_addresses(callbacks);
  if (tuning.leave_marked) marked.registerCallbacks(callbacks);
  llvm::OptPassGateInstrumentation counted(module.getContext());
  if (tuning.gate) {
    tuning.gate->begin_pipeline();
    module.getContext().setOptPassGate(*tuning.gate);
    counted.registerCallbacks(callbacks);
  }
  llvm::PassBuilder builder(machine, pipeline_options(passes, tuning), std::nullopt, &callbacks);
  if (extension) extension(builder);
  register_plugins(tuning.plugins, builder);
  LlvmOption unroll("unroll-threshold", tuning.unroll_threshold);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  module.getContext().setDiagnosticHandler(std::make_unique<WithoutLoopsLeftAlone>());
  parse(builder, passes).run(module, modules);
}

void check_pipeline(const std::string& passes, const std::string& plugins) {
  llvm::PassBuilder builder;
  register_plugins(plugins, builder);
  parse(builder, passes);
}

void check_kept(const llvm::Module& module, const std::string& name, const std::string& passes) {
  verify_module(module, "what the pipeline '" + passes + "' left");
  const llvm::GlobalValue* kept = module.getNamedValue(name);
  if (kept && !kept->isDeclaration() && !kept->hasLocalLinkage()) return;
  throw Error::of("the pipeline '{}' removes, renames or hides '{}', by which the code is found", passes, name);
}

}  // namespace mneme::ir
