// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/CallingConv.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>

#include "bundle/format.h"
#include "objects/function_address.h"
#include "objects/ptx_name.h"

// What modules for GPUs get besides their code, so that it can be found out where their functions are, and what leads
// to them. In a header, since the compiler's plugin uses the compiler's LLVM.
namespace mneme::ir {

constexpr unsigned kGlobalSpace = 1;  // of either vendor

// A variable that holds the function's address (objects/function_address.h) and can be looked up in the module. Null:
// there is one already.
inline llvm::GlobalVariable* add_address_variable(
    llvm::Function& function, llvm::GlobalValue::VisibilityTypes visibility = llvm::GlobalValue::DefaultVisibility) {
  llvm::Module& module = *function.getParent();
  std::string name = objects::address_symbol({function.getName().data(), function.getName().size()});
  if (module.getNamedValue(name)) return nullptr;
  auto* variable =
      new llvm::GlobalVariable(module, function.getType(), /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage,
                               &function, name, nullptr, llvm::GlobalValue::NotThreadLocal, kGlobalSpace);
  variable->setAlignment(llvm::Align(8));
  variable->setVisibility(visibility);
  return variable;
}

// Whether its first contents hold the address of a function: as tables of virtual functions do.
inline bool holds_functions(const llvm::GlobalVariable& variable) {
  if (!variable.hasInitializer()) return false;
  llvm::SmallVector<const llvm::Constant*, 16> pending = {variable.getInitializer()};
  llvm::SmallPtrSet<const llvm::Constant*, 16> seen;
  while (!pending.empty()) {
    const llvm::Constant* constant = pending.pop_back_val();
    if (!seen.insert(constant).second || llvm::isa<llvm::GlobalVariable>(constant)) continue;
    if (llvm::isa<llvm::Function>(constant)) return true;
    for (const llvm::Use& operand : constant->operands()) {
      if (auto* part = llvm::dyn_cast<llvm::Constant>(operand)) pending.push_back(part);
    }
  }
  return false;
}

// Of modules for NVIDIA's GPUs: the kernel's constants that are the unit's own (tables of virtual functions, texts) can
// be looked up in the module from now on, by the names that PTX has for them: memory may point to them.
inline void expose_constants(llvm::Module& module, const bundle::KernelInfo& info) {
  constexpr char kValid[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$";
  for (const bundle::Global& global : info.globals) {
    llvm::GlobalVariable* variable = module.getNamedGlobal(global.name);
    if (!variable || !variable->isConstant() || !variable->hasLocalLinkage()) continue;
    std::string name = objects::ptx_name(global.name);
    if (name.find_first_not_of(kValid) != std::string::npos) continue;
    if (name != global.name && module.getNamedValue(name)) continue;
    variable->setName(name);
    variable->setLinkage(llvm::GlobalValue::ExternalLinkage);
  }
}

// Of modules for AMD's GPUs: whoever loads the code can ask where the kernel's variables lie, also those that were the
// unit's own or hidden (as tables of virtual functions are), and by variables that hold their addresses where the
// functions are whose addresses it takes: memory may point to either. To be called when all is optimised: the kernels'
// own code stays what it is.
inline void expose_addresses(llvm::Module& module, const bundle::KernelInfo& info) {
  // The runtime finds what is neither local nor hidden. Code reaches a protected variable as it does a local one.
  constexpr auto kFound = llvm::GlobalValue::ProtectedVisibility;
  for (const bundle::Global& global : info.globals) {
    llvm::GlobalVariable* variable = module.getNamedGlobal(global.name);
    if (!variable || variable->isDeclaration()) continue;
    // Code has the addresses of others from a table, and is to stay so.
    if (!variable->hasLocalLinkage() && !variable->hasHiddenVisibility()) continue;
    if (variable->hasLocalLinkage()) variable->setLinkage(llvm::GlobalValue::ExternalLinkage);
    variable->setVisibility(kFound);
  }
  for (const std::string& name : info.functions) {
    llvm::Function* function = module.getFunction(name);
    if (function && !function->isDeclaration() && function->hasAddressTaken()) add_address_variable(*function, kFound);
  }
}

// Makes a function a kernel. Where LLVM has looked at a module's metadata before it looks at nothing that is added.
inline void make_kernel(llvm::Function& function) {
  function.setCallingConv(llvm::CallingConv::PTX_Kernel);
  llvm::LLVMContext& context = function.getContext();
  llvm::Metadata* entry[] = {llvm::ConstantAsMetadata::get(&function), llvm::MDString::get(context, "kernel"),
                             llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), 1))};
  function.getParent()->getOrInsertNamedMetadata("nvvm.annotations")->addOperand(llvm::MDNode::get(context, entry));
}

}  // namespace mneme::ir
