// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/closure.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include "pass/kernel_functions.h"
#include "pass/reached.h"

namespace mneme::inject {
namespace {

// Metadata may name values that the closure has not.
class LeftOut : public llvm::ValueMaterializer {
  llvm::Value* materialize(llvm::Value* value) override {
    return llvm::isa<llvm::GlobalValue>(value) ? llvm::PoisonValue::get(value->getType()) : nullptr;
  }
};

// What llvm::CloneModule does, but its cost grows with what is reached, not with the module: mneme-lift takes hundreds
// of kernels out of one.
class Copying {
 public:
  Copying(const llvm::Module& unit, const Reached& reached, llvm::ValueToValueMapTy& copies)
      : unit_(unit), reached_(reached), copies_(copies) {}

  std::unique_ptr<llvm::Module> run() {
    to_ = std::make_unique<llvm::Module>(unit_.getModuleIdentifier(), unit_.getContext());
    to_->setDataLayout(unit_.getDataLayout());
    to_->setTargetTriple(unit_.getTargetTriple());
    to_->setModuleInlineAsm(unit_.getModuleInlineAsm());
    declare();
    define();
    copy_named_metadata();
    return std::move(to_);
  }

 private:
  template <typename Values>
  auto reached_of(Values&& values) {
    return llvm::make_filter_range(values, [this](const auto& value) { return reached_.contains(&value); });
  }

  void declare() {
    for (const llvm::GlobalVariable& one : reached_of(unit_.globals())) {
      auto* copy =
          new llvm::GlobalVariable(*to_, one.getValueType(), one.isConstant(), one.getLinkage(), nullptr, one.getName(),
                                   nullptr, one.getThreadLocalMode(), one.getType()->getAddressSpace());
      copy->copyAttributesFrom(&one);
      copies_[&one] = copy;
    }
    for (const llvm::Function& one : reached_of(unit_)) {
      auto* copy = llvm::Function::Create(one.getFunctionType(), one.getLinkage(), one.getAddressSpace(), one.getName(),
                                          to_.get());
      copy->copyAttributesFrom(&one);
      copies_[&one] = copy;
    }
    for (const llvm::GlobalAlias& one : reached_of(unit_.aliases())) {
      auto* copy = llvm::GlobalAlias::create(one.getValueType(), one.getType()->getPointerAddressSpace(),
                                             one.getLinkage(), one.getName(), to_.get());
      copy->copyAttributesFrom(&one);
      copies_[&one] = copy;
    }
  }

  void define() {
    for (const llvm::GlobalVariable& one : reached_of(unit_.globals())) {
      auto* copy = llvm::cast<llvm::GlobalVariable>(copies_[&one]);
      copy_metadata(one, *copy);
      if (one.isDeclaration()) continue;
      copy->setInitializer(llvm::cast<llvm::Constant>(value_of(one.getInitializer())));
      copy_comdat(one, *copy);
    }
    for (const llvm::Function& one : reached_of(unit_)) {
      auto* copy = llvm::cast<llvm::Function>(copies_[&one]);
      if (one.isDeclaration()) {
        copy_metadata(one, *copy);
        continue;
      }
      for (auto [from, to] : llvm::zip(one.args(), copy->args())) {
        to.setName(from.getName());
        copies_[&from] = &to;
      }
      llvm::SmallVector<llvm::ReturnInst*, 8> returns;
      llvm::CloneFunctionInto(copy, &one, copies_, llvm::CloneFunctionChangeType::ClonedModule, returns, "", nullptr,
                              nullptr, &left_out_);
      if (one.hasPersonalityFn()) copy->setPersonalityFn(llvm::cast<llvm::Constant>(value_of(one.getPersonalityFn())));
      copy_comdat(one, *copy);
    }
    for (const llvm::GlobalAlias& one : reached_of(unit_.aliases())) {
      llvm::cast<llvm::GlobalAlias>(copies_[&one])->setAliasee(llvm::cast<llvm::Constant>(value_of(one.getAliasee())));
    }
  }

  void copy_named_metadata() {
    for (const llvm::NamedMDNode& node : unit_.named_metadata()) {
      llvm::NamedMDNode* copy = to_->getOrInsertNamedMetadata(node.getName());
      for (const llvm::MDNode* operand : node.operands()) {
        // Annotations of functions: one or more a kernel.
        auto* about = operand->getNumOperands()
                          ? llvm::mdconst::dyn_extract_or_null<llvm::GlobalValue>(operand->getOperand(0))
                          : nullptr;
        if (about && !reached_.contains(about)) continue;
        copy->addOperand(llvm::MapMetadata(operand, copies_, llvm::RF_None, nullptr, &left_out_));
      }
    }
  }

  llvm::Value* value_of(const llvm::Value* value) {
    return llvm::MapValue(value, copies_, llvm::RF_None, nullptr, &left_out_);
  }

  void copy_metadata(const llvm::GlobalObject& from, llvm::GlobalObject& to) {
    llvm::SmallVector<std::pair<unsigned, llvm::MDNode*>, 2> nodes;
    from.getAllMetadata(nodes);
    for (auto [kind, node] : nodes) {
      to.addMetadata(kind, *llvm::MapMetadata(node, copies_, llvm::RF_None, nullptr, &left_out_));
    }
  }

  void copy_comdat(const llvm::GlobalObject& from, llvm::GlobalObject& to) {
    const llvm::Comdat* comdat = from.getComdat();
    if (!comdat) return;
    llvm::Comdat* copy = to_->getOrInsertComdat(comdat->getName());
    copy->setSelectionKind(comdat->getSelectionKind());
    to.setComdat(copy);
  }

  const llvm::Module& unit_;
  const Reached& reached_;
  llvm::ValueToValueMapTy& copies_;
  std::unique_ptr<llvm::Module> to_;
  LeftOut left_out_;
};

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
  std::unique_ptr<llvm::Module> module = Copying(unit, reached, clones).run();
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
