// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass plugin: in the device compilation, before anything is optimised, it embeds each kernel's IR in the code
// object; under -fgpu-rdc that is done when the units are linked (relocatable/units.h). Where the application has
// plugins of its own, or other tools change the code in between (relocatable/contents.h), it embeds what they leave,
// when all is optimised: no other moment is known to be behind them. When all is optimised it adds what says where
// functions are whose address is taken (pointed_functions.h). It is loaded into clang, or lld, whose LLVM it uses.
#include <llvm/IR/AutoUpgrade.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/TargetParser/Triple.h>

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "cuda/carried.h"
#include "ir/relative_tables.h"
#include "pass/device_heap.h"
#include "pass/driver_command.h"
#include "pass/embed.h"
#include "pass/graph_conditions.h"
#include "pass/kernel_functions.h"
#include "pass/own_plugins.h"
#include "pass/pointed_functions.h"
#include "pass/record.h"
#include "pass/relocatable/contents.h"
#include "pass/relocatable/units.h"

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
void embed_kernels(llvm::Module& module, const llvm::Module& program, const Told& told = {}) {
  KernelFunctions kernels = kernels_in(program);
  std::vector<std::pair<std::string, std::string>> records;  // made of the module as it is before any is in it
  for (const llvm::Function& function : program) {
    if (!kernels.contains(&function) || has_embedded(module, function.getName())) continue;
    records.emplace_back(function.getName(), record_of(function, told));
  }
  for (const auto& [name, record] : records) embed(module, name, record);
  if (records.empty()) return;
  for (const std::string& source : sources_of(told.compilations)) embed_source(module, source);
}

// The records are written, and nothing else is compiled.
[[noreturn]] void answer(const llvm::Module& module, const Told& told) {
  std::string records;
  const KernelFunctions kernels = kernels_in(module);
  for (const llvm::Function& function : module) {
    if (kernels.contains(&function)) records += record_of(function, told);
  }
  write_all(STDOUT_FILENO, bytes_of(records), "standard output");
  std::_Exit(0);
}

// mneme-inject says so: a module does not.
bool is_relocatable() { return std::getenv("MNEME_INJECT_RELOCATABLE") != nullptr; }

// mneme-inject --device-heap vendor says so.
bool keeps_vendors_heap() {
  const char* heap = std::getenv("MNEME_DEVICE_HEAP");
  return heap && llvm::StringRef(heap) == "vendor";
}

bool is_gpus(const llvm::Triple& triple) { return triple.isAMDGCN() || triple.isNVPTX(); }

void embed(llvm::Module& module, Told& told) {
  if (answers_with_records()) answer(module, told);
  if (is_relocatable()) {
    carry_unit(module, told.own_passes);
  } else {
    told.compilations = compilations_of(module);
    embed_kernels(module, module, told);
  }
}

class CompileUnit : public llvm::PassInfoMixin<CompileUnit> {
 public:
  // The callbacks, which may be null, are those of the pipeline.
  CompileUnit(llvm::PassInstrumentationCallbacks* callbacks, std::shared_ptr<Told> told)
      : callbacks_(callbacks), told_(std::move(told)) {}

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    llvm::Triple triple(module.getTargetTriple());
    if (!is_gpus(triple)) return llvm::PreservedAnalyses::all();
    if (carries(module.getModuleInlineAsm())) return llvm::PreservedAnalyses::all();  // the plugin was named twice
    try {
      if (triple.isAMDGCN()) mend_removed_intrinsics(module);
      if (triple.isNVPTX() && callbacks_) ir::leave_tables_of_addresses(*callbacks_);
      if (!keeps_vendors_heap()) use_own_heap(module);
      if (triple.isNVPTX()) take_own_conditions(module);
      told_->names = take_names(module);
      if (told_->own_passes.empty()) embed(module, *told_);
    } catch (const std::exception& error) {
      module.getContext().emitError(std::string("mneme-inject: ") + error.what());
    }
    return llvm::PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }  // at -O0 too, where kernels are optnone

 private:
  llvm::PassInstrumentationCallbacks* callbacks_;
  std::shared_ptr<Told> told_;
};

// Behind the application's own plugins.
class EmbedWhatIsLeft : public llvm::PassInfoMixin<EmbedWhatIsLeft> {
 public:
  explicit EmbedWhatIsLeft(std::shared_ptr<Told> told) : told_(std::move(told)) {}

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    if (!is_gpus(llvm::Triple(module.getTargetTriple())) || carries(module.getModuleInlineAsm())) {
      return llvm::PreservedAnalyses::all();
    }
    try {
      embed(module, *told_);
    } catch (const std::exception& error) {
      module.getContext().emitError(std::string("mneme-inject: ") + error.what());
    }
    return llvm::PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }

 private:
  std::shared_ptr<Told> told_;
};

class NoteContents : public llvm::PassInfoMixin<NoteContents> {
 public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    if (llvm::Triple(module.getTargetTriple()).isAMDGCN() && is_relocatable()) note_contents(module);
    return llvm::PreservedAnalyses::all();
  }

  static bool isRequired() { return true; }
};

// Exports functions and variables that recorded memory may point to, so that the loaded code can be asked for them.
class ExposeAddresses : public llvm::PassInfoMixin<ExposeAddresses> {
 public:
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    if (!is_gpus(llvm::Triple(module.getTargetTriple()))) return llvm::PreservedAnalyses::all();
    try {
      expose_pointed(module, is_relocatable());
    } catch (const std::exception& error) {
      module.getContext().emitError(std::string("mneme-inject: ") + error.what());
    }
    return llvm::PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }
};

// What the link is about to do, and what it is to embed when it has optimised all.
struct Linking {
  bool embeds_linked = false;
  Told told;
};

// Embeds what the units carry, unless the link has passes of the application's own, or was given other code than was
// compiled.
class LinkUnits : public llvm::PassInfoMixin<LinkUnits> {
 public:
  explicit LinkUnits(std::shared_ptr<Linking> linking) : linking_(std::move(linking)) {}

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    try {
      if (kernels_in(module).empty()) return llvm::PreservedAnalyses::all();
      const std::vector<std::string> others = own_plugins();
      bool changed = has_other_contents(module);
      auto program = carried_units(module);
      changed |= !program;
      if (program) linking_->told.own_passes = own_passes_of(*program);
      if (program) linking_->told.compilations = carried_compilations(*program);
      linking_->embeds_linked = changed || !others.empty();
      if (!linking_->embeds_linked) embed_kernels(module, *program, linking_->told);
      for (const std::string& other : others) linking_->told.own_passes.push_back(other);
      if (changed) {
        const char* text =
            "mneme-inject: device code was changed after it was compiled, or some of it was compiled without "
            "mneme-inject: kernels are recorded as they are linked, which is optimised";
        module.getContext().diagnose(llvm::DiagnosticInfoInlineAsm(text, llvm::DS_Warning));
      }
    } catch (const std::exception& error) {
      module.getContext().emitError(std::string("mneme-inject: ") + error.what());
    }
    return llvm::PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }

 private:
  std::shared_ptr<Linking> linking_;
};

class EmbedLinked : public llvm::PassInfoMixin<EmbedLinked> {
 public:
  explicit EmbedLinked(std::shared_ptr<Linking> linking) : linking_(std::move(linking)) {}

  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    if (!linking_->embeds_linked) return llvm::PreservedAnalyses::all();
    try {
      embed_kernels(module, module, linking_->told);
    } catch (const std::exception& error) {
      module.getContext().emitError(std::string("mneme-inject: ") + error.what());
    }
    return llvm::PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }

 private:
  std::shared_ptr<Linking> linking_;
};

}  // namespace
}  // namespace mneme::inject

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "mneme-inject", MNEME_VERSION, [](llvm::PassBuilder& builder) {
            if (mneme::inject::makes_text() && !mneme::inject::answers_with_records()) return;
            auto told = std::make_shared<mneme::inject::Told>();
            told->own_passes = mneme::inject::own_plugins();
            builder.registerPipelineStartEPCallback([callbacks = builder.getPassInstrumentationCallbacks(), told](
                                                        llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
              passes.addPass(mneme::inject::CompileUnit(callbacks, told));
            });
            builder.registerOptimizerLastEPCallback([told](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
              if (!told->own_passes.empty()) passes.addPass(mneme::inject::EmbedWhatIsLeft(told));
              passes.addPass(mneme::inject::ExposeAddresses());
              passes.addPass(mneme::inject::NoteContents());
            });
            auto linking = std::make_shared<mneme::inject::Linking>();
            builder.registerFullLinkTimeOptimizationEarlyEPCallback(
                [linking](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
                  passes.addPass(mneme::inject::LinkUnits(linking));
                });
            builder.registerFullLinkTimeOptimizationLastEPCallback(
                [linking](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
                  passes.addPass(mneme::inject::EmbedLinked(linking));
                });
          }};
}
