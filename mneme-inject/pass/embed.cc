// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "embed.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include "objects/embedded.h"

namespace mneme::inject {
namespace {

constexpr unsigned kConstantSpace = 4;

std::string symbol_of(llvm::StringRef kernel) { return ("__mneme_ir_" + kernel).str(); }

}  // namespace

bool has_embedded(const llvm::Module& module, llvm::StringRef name) {
  return module.getNamedValue(symbol_of(name)) != nullptr;
}

void embed(llvm::Module& module, llvm::StringRef name, const std::string& record) {
  llvm::Constant* bytes = llvm::ConstantDataArray::getString(module.getContext(), record, /*AddNull=*/false);
  // Weak, because two translation units may instantiate the same template; protected, so that the symbol
  // is exported and what it names stays under --gc-sections.
  auto* variable =
      new llvm::GlobalVariable(module, bytes->getType(), /*isConstant=*/true, llvm::GlobalValue::WeakODRLinkage, bytes,
                               symbol_of(name), nullptr, llvm::GlobalValue::NotThreadLocal, kConstantSpace);
  variable->setVisibility(llvm::GlobalValue::ProtectedVisibility);
  variable->setSection(objects::kEmbeddedSection);
  variable->setAlignment(llvm::Align(objects::kEmbeddedAlign));
  llvm::appendToUsed(module, {variable});
}

}  // namespace mneme::inject
