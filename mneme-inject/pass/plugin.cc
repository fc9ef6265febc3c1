// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass plugin: in the device compilation, before anything is optimised, it embeds each kernel's IR in
// the code object; under -fgpu-rdc that is done when the units are linked (units.h). When all is optimised it adds what
// says where functions are whose address is taken (pointed_functions.h). It is loaded into clang, or lld, whose LLVM it
// uses.
#include <llvm/IR/AutoUpgrade.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/TargetParser/Triple.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "cuda/carried.h"
#include "ir/relative_tables.h"
#include "pass/argument_names.h"
#include "pass/embed.h"
#include "pass/kernel_functions.h"
#include "pass/pointed_functions.h"
#include "pass/record.h"
#include "pass/units.h"

namespace mneme::inject {
namespace {

// HIP 5's headers declare intrinsics that LLVM has removed since (atomicInc, atomicDec) by their assembler
// names. A bitcode reader would upgrade them; clang's code generator does not, and the device link fails.
void mend_removed_intrinsics(llvm::Module& module) {
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    if (function.isDeclaration() && function.getName().starts_with("llvm.")) llvm::UpgradeCallsToIntrinsic(&function);
  }
}

// Embeds in `module` the kernels of `program`, which may be the same.
void embed_kernels(llvm::Module& module, const llvm::Module& program, const ArgumentNames& names = {}) {
  KernelFunctions kernels = kernels_in(program);
  std::vector<std::pair<std::string, std::string>> records;  // made of the module as it is before any is in it
  for (const llvm::Function& function : program) {
    if (!kernels.contains(&function) || has_embedded(module, function.getName())) continue;
    records.emplace_back(function.getName(), record_of(function, names));
  }
  for (const auto& [name, record] : records) embed(module, name, record);
}

// mneme-inject says so: a module does not.
bool is_relocatable() { return std::getenv("MNEME_INJECT_RELOCATABLE") != nullptr; }

class CompileUnit : public llvm::PassInfoMixin<CompileUnit> {
 public:
  // The callbacks, which may be null, are those of the pipeline.
  explicit CompileUnit(llvm::PassInstrumentationCallbacks* callbacks) : callbacks_(callbacks) {}

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    llvm::Triple triple(module.getTargetTriple());
    if (!triple.isAMDGCN() && !triple.isNVPTX()) return llvm::PreservedAnalyses::all();
    if (carries(module.getModuleInlineAsm())) return llvm::PreservedAnalyses::all();  // the plugin was named twice
    try {
      if (triple.isAMDGCN()) mend_removed_intrinsics(module);
      if (triple.isNVPTX() && callbacks_) ir::leave_tables_of_addresses(*callbacks_);
      const ArgumentNames names = take_names(module);
      if (is_relocatable()) {
        carry_unit(module);
      } else {
        embed_kernels(module, module, names);
      }
    } catch (const std::exception& error) {
      module.getContext().emitError(std::string("mneme-inject: ") + error.what());
    }
    return llvm::PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }  // at -O0 too, where kernels are optnone

 private:
  llvm::PassInstrumentationCallbacks* callbacks_;
};

// What recorded memory may point to is to be found when the code is loaded. In relocatable code, names of what is a
// unit's own do not say which one is meant; and in NVIDIA's, addresses of functions are the loader's, other ones in
// each process.
class ExposeAddresses : public llvm::PassInfoMixin<ExposeAddresses> {
 public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    llvm::Triple triple(module.getTargetTriple());
    if ((!triple.isAMDGCN() && !triple.isNVPTX()) || is_relocatable()) return llvm::PreservedAnalyses::all();
    try {
      expose_pointed(module);
    } catch (const std::exception& error) {
      module.getContext().emitError(std::string("mneme-inject: ") + error.what());
    }
    return llvm::PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }
};

class LinkUnits : public llvm::PassInfoMixin<LinkUnits> {
 public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    try {
      if (auto program = carried_units(module)) embed_kernels(module, *program);
    } catch (const std::exception& error) {
      module.getContext().emitError(std::string("mneme-inject: ") + error.what());
    }
    return llvm::PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }
};

}  // namespace
}  // namespace mneme::inject

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "mneme-inject", MNEME_VERSION, [](llvm::PassBuilder& builder) {
            builder.registerPipelineStartEPCallback([callbacks = builder.getPassInstrumentationCallbacks()](
                                                        llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
              passes.addPass(mneme::inject::CompileUnit(callbacks));
            });
            builder.registerOptimizerLastEPCallback([](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
              passes.addPass(mneme::inject::ExposeAddresses());
            });
            builder.registerFullLinkTimeOptimizationEarlyEPCallback(
                [](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
                  passes.addPass(mneme::inject::LinkUnits());
                });
          }};
}
