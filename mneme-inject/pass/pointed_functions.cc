// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/pointed_functions.h"

#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/Instructions.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <string>

#include "cuda/carried.h"
#include "cuda/function_places.h"
#include "ir/address_variable.h"
#include "pass/embed.h"
#include "pass/kernel_functions.h"

namespace mneme::inject {
namespace {

constexpr char kOther[] = "__mneme_beside";

void add_empty_kernel(llvm::Module& module) {
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), /*isVarArg=*/false);
  auto* kernel = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, kOther, module);
  llvm::ReturnInst::Create(module.getContext(), llvm::BasicBlock::Create(module.getContext(), "", kernel));
  ir::make_kernel(*kernel);
}

void carry_functions(llvm::Module& module) {
  if (module.getFunction(kOther) || module.getModuleInlineAsm().find(kFunctionsSection) != std::string::npos) return;
  KernelFunctions kernels = kernels_in(module);
  std::string names;
  for (const llvm::Function& function : module) {
    if (function.isDeclaration() || kernels.contains(&function)) continue;
    if (!function.hasAddressTaken(nullptr, false, true, /*IgnoreLLVMUsed=*/true)) continue;
    names += function.getName().str() + '\n';
  }
  if (names.empty()) return;
  module.appendModuleInlineAsm(carried_lines(kFunctionsSection, names));
  if (kernels.size() == 1) add_empty_kernel(module);
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

void expose_pointed(llvm::Module& module) {
  if (!llvm::Triple(module.getTargetTriple()).isNVPTX()) return export_addresses(module);
  carry_functions(module);
  for (const bundle::KernelInfo& info : embedded_kernels(module)) ir::expose_constants(module, info);
}

}  // namespace mneme::inject
