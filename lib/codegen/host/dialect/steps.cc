// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/dialect/steps.h"

#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>

#include <set>

#include "base/error.h"
#include "base/long_names.h"
#include "codegen/host/neutral/function_addresses.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

void set_system_scope(llvm::Instruction& instruction) {
  constexpr llvm::SyncScope::ID kSystem = llvm::SyncScope::System;
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) load->setSyncScopeID(kSystem);
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) store->setSyncScopeID(kSystem);
  if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) update->setSyncScopeID(kSystem);
  if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) exchange->setSyncScopeID(kSystem);
}

// Kernels, and what else others can call: an edited kernel with other arguments has another name.
std::string defined_in(const llvm::Module& module) {
  std::string names;
  for (const llvm::Function& function : module) {
    if (function.isDeclaration() || function.hasLocalLinkage() || function.hasLinkOnceLinkage()) continue;
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", llvm::demangle(function.getName()));
  }
  return names.empty() ? "nothing" : cut_in_the_middle(names);
}

}  // namespace

llvm::Function& kernel_in(llvm::Module& module, const bundle::KernelInfo& kernel) {
  llvm::Function* entry = module.getFunction(kernel.name);
  if (!entry || entry->isDeclaration()) {
    throw Error::of("the IR does not define the kernel '{}'; it defines {}", kernel.demangled, defined_in(module));
  }
  return *entry;
}

void prune(llvm::Module& module, llvm::Function& kernel) {
  for (const char* list : {"llvm.used", "llvm.compiler.used"}) {
    if (llvm::GlobalVariable* used = module.getNamedGlobal(list)) used->eraseFromParent();
  }
  for (llvm::Function& function : module) {
    if (&function != &kernel && !function.isDeclaration() && !is_kept(function)) {
      function.setComdat(nullptr);
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
    }
  }
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (is_kept(variable)) continue;
    variable.setComdat(nullptr);
    // A variable that is only declared stays so: dynamic shared memory, or somebody else's.
    if (!variable.isDeclaration()) variable.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  llvm::ModuleAnalysisManager none;
  llvm::GlobalDCEPass().run(module, none);
}

void classify_memory(llvm::Module& module, const bundle::KernelInfo& kernel) {
  std::set<std::string> device;
  for (const bundle::Global& global : kernel.globals) device.insert(global.name);
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (variable.getAddressSpace() == kSharedSpace) {
      bool dynamic = variable.isDeclaration();
      set_memory_class(variable, dynamic ? MemoryClass::kSharedDynamic : MemoryClass::kShared);
    } else if (device.count(variable.getName().str())) {
      set_memory_class(variable, MemoryClass::kDevice);
      // Kept even when nothing is left that refers to it: its first contents are known here, and code compiled
      // otherwise may read them.
      if (!variable.isDeclaration()) variable.setLinkage(llvm::GlobalValue::ExternalLinkage);
    } else if (variable.isDeclaration()) {
      throw Error::of("kernel '{}' uses the variable '{}', which its IR does not define", kernel.demangled,
                      variable.getName().str());
    } else if (!variable.isConstant()) {
      throw Error::of("kernel '{}' uses the variable '{}', which the recording does not list", kernel.demangled,
                      variable.getName().str());
    } else {
      set_memory_class(variable, MemoryClass::kPrivateConstant);
    }
  }
}

// Other blocks run on other cores: what is wider than a block becomes the host's widest scope. Within a block one CPU
// thread runs everything; its fences still show where lanes are to be in step (sync/in_step.h), and stay for that.
void raise_scopes(llvm::Module& module) {
  llvm::SyncScope::ID block = module.getContext().getOrInsertSyncScopeID("block");  // NVPTX's name of it
  llvm::SyncScope::ID workgroup = module.getContext().getOrInsertSyncScopeID("workgroup");
  llvm::SmallVector<llvm::StringRef, 8> names;
  module.getContext().getSyncScopeNames(names);
  auto within_block = [&](llvm::SyncScope::ID scope) {
    llvm::StringRef name = scope < names.size() ? names[scope] : "";
    return name.starts_with("workgroup") || name.starts_with("wavefront") || name.starts_with("singlethread");
  };
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (auto* fence = llvm::dyn_cast<llvm::FenceInst>(&instruction)) {
        llvm::SyncScope::ID scope = fence->getSyncScopeID() == block ? workgroup : fence->getSyncScopeID();
        fence->setSyncScopeID(within_block(scope) ? scope : llvm::SyncScope::System);
      } else if (instruction.isAtomic()) {
        set_system_scope(instruction);
      }
    }
  }
}

void unfuse(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      if (llvm::isa<llvm::FPMathOperator>(instruction)) instruction.setHasAllowContract(false);
      auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (!call || call->getIntrinsicID() != llvm::Intrinsic::fmuladd) continue;
      llvm::IRBuilder<> builder(call);
      builder.setFastMathFlags(call->getFastMathFlags());
      llvm::Value* product = builder.CreateFMul(call->getArgOperand(0), call->getArgOperand(1));
      call->replaceAllUsesWith(builder.CreateFAdd(product, call->getArgOperand(2)));
      call->eraseFromParent();
    }
  }
}

}  // namespace mneme::codegen::host
