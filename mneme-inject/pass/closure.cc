// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "closure.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <vector>

namespace mneme::inject {
namespace {

using Reached = llvm::DenseSet<const llvm::Constant*>;

Reached reachable_from(const llvm::Function& kernel) {
  Reached reached;
  llvm::SmallVector<const llvm::Constant*, 64> pending;
  auto visit = [&](const llvm::Value* value) {
    auto* constant = llvm::dyn_cast<llvm::Constant>(value);
    if (constant && reached.insert(constant).second) pending.push_back(constant);
  };
  visit(&kernel);
  while (!pending.empty()) {
    const llvm::Constant* constant = pending.pop_back_val();
    // Of a constant expression its parts, of a variable its initialiser, of an alias what it stands for.
    for (const llvm::Value* operand : constant->operand_values()) visit(operand);
    auto* function = llvm::dyn_cast<llvm::Function>(constant);
    if (!function) continue;
    for (const llvm::Instruction& instruction : llvm::instructions(*function)) {
      for (const llvm::Value* operand : instruction.operand_values()) visit(operand);
    }
  }
  return reached;
}

void erase(llvm::GlobalValue& value) {
  value.removeDeadConstantUsers();
  // Only metadata can be left; it loses its reference.
  if (!value.use_empty()) value.replaceAllUsesWith(llvm::PoisonValue::get(value.getType()));
  value.eraseFromParent();
}

// Of the module's named metadata only the flags matter to what the code does, and of them not those of debuggers.
void strip_metadata(llvm::Module& module) {
  llvm::SmallVector<llvm::Module::ModuleFlagEntry, 8> flags;
  module.getModuleFlagsMetadata(flags);
  for (const char* name : {"llvm.ident", "opencl.ocl.version", "opencl.spir.version", "llvm.module.flags"}) {
    if (llvm::NamedMDNode* node = module.getNamedMetadata(name)) module.eraseNamedMetadata(node);
  }
  for (const auto& flag : flags) {
    llvm::StringRef name = flag.Key->getString();
    if (name == "Debug Info Version" || name.starts_with("Dwarf") || name == "debug-info-assignment-tracking") continue;
    module.addModuleFlag(flag.Behavior, name, flag.Val);
  }
}

}  // namespace

std::unique_ptr<llvm::Module> closure_of(const llvm::Function& kernel) {
  const llvm::Module& unit = *kernel.getParent();
  Reached reached = reachable_from(kernel);
  llvm::ValueToValueMapTy clones;
  std::unique_ptr<llvm::Module> module =
      llvm::CloneModule(unit, clones, [&](const llvm::GlobalValue* value) { return reached.contains(value); });
  for (const llvm::GlobalValue& value : unit.global_values()) {
    if (!reached.contains(&value)) erase(*llvm::cast<llvm::GlobalValue>(clones[&value]));
  }

  auto* copy = llvm::cast<llvm::Function>(clones[&kernel]);
  if (copy->hasLocalLinkage()) copy->setLinkage(llvm::GlobalValue::ExternalLinkage);
  llvm::StripDebugInfo(*module);
  strip_metadata(*module);
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
