// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/amdgpu/exposed.h"

#include "ir/address_variable.h"

namespace mneme::codegen::amdgpu {
namespace {

// The runtime finds what is neither local nor hidden. Code reaches a protected variable as it does a local one.
constexpr auto kFound = llvm::GlobalValue::ProtectedVisibility;

}  // namespace

void expose_addresses(llvm::Module& module, const bundle::KernelInfo& info) {
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
    if (function && !function->isDeclaration() && function->hasAddressTaken()) {
      ir::add_address_variable(*function, kFound);
    }
  }
}

}  // namespace mneme::codegen::amdgpu
