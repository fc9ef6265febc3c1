// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/pointed_functions.h"

#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/Instructions.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cuda/carried.h"
#include "cuda/function_places.h"
#include "ir/address_variable.h"
#include "pass/embed.h"
#include "pass/kernel_functions.h"
#include "pass/relocatable/own_names.h"

namespace mneme::inject {
namespace {

constexpr char kOther[] = "__mneme_beside";

void add_empty_kernel(llvm::Module& module) {
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), /*isVarArg=*/false);
  auto* kernel = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, kOther, module);
  llvm::ReturnInst::Create(module.getContext(), llvm::BasicBlock::Create(module.getContext(), "", kernel));
  ir::make_kernel(*kernel);
}

// But for kernels.
std::vector<llvm::Function*> with_address_taken(llvm::Module& module) {
  KernelFunctions kernels = kernels_in(module);
  std::vector<llvm::Function*> functions;
  for (llvm::Function& function : module) {
    const bool is_taken = function.hasAddressTaken(nullptr, false, true, /*IgnoreLLVMUsed=*/true);
    if (is_taken && !kernels.contains(&function)) functions.push_back(&function);
  }
  return functions;
}

void carry_functions(llvm::Module& module) {
  if (module.getFunction(kOther) || module.getModuleInlineAsm().find(kFunctionsSection) != std::string::npos) return;
  std::string names;
  for (const llvm::Function* function : with_address_taken(module)) {
    if (!function->isDeclaration()) names += function->getName().str() + '\n';
  }
  if (names.empty()) return;
  module.appendModuleInlineAsm(carried_lines(kFunctionsSection, names));
  if (kernels_in(module).size() == 1) add_empty_kernel(module);
}

// Several units may have variables for the same function, and the same unit may be linked twice.
void export_for_link(llvm::Module& unit) {
  constexpr auto kShared = llvm::GlobalValue::WeakODRLinkage;
  for (llvm::Function* function : with_address_taken(unit)) {
    if (function->isIntrinsic()) continue;
    if (llvm::GlobalVariable* variable = ir::add_address_variable(*function)) variable->setLinkage(kShared);
  }
  for (llvm::GlobalVariable& variable : unit.globals()) {
    if (!has_own_name(variable)) continue;
    variable.setName(objects::ptx_name(variable.getName().str()));
    variable.setLinkage(kShared);
  }
}

void export_addresses(llvm::Module& module) {
  std::vector<bundle::KernelInfo> kernels = embedded_kernels(module);
  bool any = std::ranges::any_of(kernels, [](auto& info) { return !info.functions.empty() || !info.globals.empty(); });
  if (!any || module.getNamedValue(objects::kExposedSymbol)) return;
  for (const bundle::KernelInfo& info : kernels) ir::expose_addresses(module, info);
  llvm::Constant* byte = llvm::ConstantInt::get(llvm::Type::getInt8Ty(module.getContext()), 1);
  auto* says =
      new llvm::GlobalVariable(module, byte->getType(), /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage, byte,
                               objects::kExposedSymbol, nullptr, llvm::GlobalValue::NotThreadLocal, ir::kGlobalSpace);
  says->setVisibility(llvm::GlobalValue::ProtectedVisibility);
}

}  // namespace

void expose_pointed(llvm::Module& module, bool is_relocatable) {
  const bool is_nvptx = llvm::Triple(module.getTargetTriple()).isNVPTX();
  if (is_relocatable) return is_nvptx ? export_for_link(module) : void();
  if (!is_nvptx) return export_addresses(module);
  carry_functions(module);
  for (const bundle::KernelInfo& info : embedded_kernels(module)) ir::expose_constants(module, info);
}

}  // namespace mneme::inject
