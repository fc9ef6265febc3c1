// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/closure.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "pass/kernel_functions.h"
#include "pass/reached.h"

namespace mneme::inject {
namespace {

void erase(llvm::GlobalValue& value) {
  value.removeDeadConstantUsers();
  // Only metadata can be left; it loses its reference.
  if (!value.use_empty()) value.replaceAllUsesWith(llvm::PoisonValue::get(value.getType()));
  value.eraseFromParent();
}

// Of the module's named metadata only the flags matter to what the code does, and of them those of debuggers do not.
void strip_metadata(llvm::Module& module, bool debuggable) {
  llvm::SmallVector<llvm::Module::ModuleFlagEntry, 8> flags;
  module.getModuleFlagsMetadata(flags);
  for (const char* name : {"llvm.ident", "opencl.ocl.version", "opencl.spir.version", "nvvmir.version",
                           "llvm.module.flags", "mneme.own_passes", "mneme.contents", "mneme.compilations"}) {
    if (llvm::NamedMDNode* node = module.getNamedMetadata(name)) module.eraseNamedMetadata(node);
  }
  for (const auto& flag : flags) {
    llvm::StringRef name = flag.Key->getString();
    bool debuggers =
        name == "Debug Info Version" || name.starts_with("Dwarf") || name == "debug-info-assignment-tracking";
    if (!debuggers || debuggable) module.addModuleFlag(flag.Behavior, name, flag.Val);
  }
}

// Of what debuggers are told, only what the closure's own code refers to.
void thin_debug_information(llvm::Module& module) {
  for (llvm::DICompileUnit* unit : module.debug_compile_units()) {
    unit->replaceEnumTypes(nullptr);
    unit->replaceRetainedTypes(nullptr);
    unit->replaceGlobalVariables(nullptr);
    unit->replaceImportedEntities(nullptr);
    unit->replaceMacros(nullptr);
  }
}

}  // namespace

bool is_debuggable(const llvm::Function& kernel) { return kernel.getSubprogram() != nullptr; }

std::unique_ptr<llvm::Module> closure_of(const llvm::Function& kernel, bool debuggable) {
  const llvm::Module& unit = *kernel.getParent();
  Reached reached(kernel);
  llvm::ValueToValueMapTy clones;
  std::unique_ptr<llvm::Module> module =
      llvm::CloneModule(unit, clones, [&](const llvm::GlobalValue* value) { return reached.contains(value); });
  for (const llvm::GlobalValue& value : unit.global_values()) {
    if (!reached.contains(&value)) erase(*llvm::cast<llvm::GlobalValue>(clones[&value]));
  }
  forget_missing_functions(*module);

  llvm::SmallVector<llvm::GlobalValue*, 8> by_pointer;
  for (const llvm::GlobalObject* object : reached.by_pointer()) {
    by_pointer.push_back(llvm::cast<llvm::GlobalValue>(clones[object]));
  }
  if (!by_pointer.empty()) llvm::appendToCompilerUsed(*module, by_pointer);

  auto* copy = llvm::cast<llvm::Function>(clones[&kernel]);
  if (copy->hasLocalLinkage()) copy->setLinkage(llvm::GlobalValue::ExternalLinkage);
  if (debuggable) {
    thin_debug_information(*module);
  } else {
    llvm::StripDebugInfo(*module);
  }
  strip_metadata(*module, debuggable);
  module->setModuleIdentifier("mneme");
  module->setSourceFileName("mneme");
  return module;
}

std::string bitcode_of(const llvm::Module& module) {
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  stream.flush();
  return bitcode;
}

}  // namespace mneme::inject
