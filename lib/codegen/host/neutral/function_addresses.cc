// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/neutral/function_addresses.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InstrTypes.h>

#include <map>

#include "base/error.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

constexpr llvm::StringLiteral kKept = "mneme-kept";

bool is_direct_call(const llvm::Use& use) {
  auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
  return call && call->isCallee(&use);
}

}  // namespace

uint64_t function_address(const bundle::KernelInfo& kernel, llvm::StringRef name) {
  return objects::recorded_or_made_address(kernel, {name.data(), name.size()});
}

void mark_kept(llvm::Module& module) {
  llvm::GlobalVariable* list = module.getNamedGlobal("llvm.compiler.used");
  if (!list || !list->hasInitializer()) return;
  for (llvm::Value* entry : list->getInitializer()->operand_values()) {
    auto* kept = llvm::dyn_cast<llvm::GlobalObject>(entry->stripPointerCasts());
    if (!kept || kept->isDeclaration()) continue;
    if (auto* function = llvm::dyn_cast<llvm::Function>(kept)) function->addFnAttr(kKept);
    if (auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(kept)) variable->addAttribute(kKept);
    kept->setComdat(nullptr);
    kept->setLinkage(llvm::GlobalValue::ExternalLinkage);
  }
}

bool is_kept(const llvm::GlobalObject& object) {
  if (auto* function = llvm::dyn_cast<llvm::Function>(&object)) return function->hasFnAttribute(kKept);
  return llvm::cast<llvm::GlobalVariable>(object).hasAttribute(kKept);
}

void lower_function_addresses(llvm::Module& module, const bundle::KernelInfo& kernel) {
  llvm::Type* number = llvm::Type::getInt64Ty(module.getContext());
  std::map<uint64_t, llvm::StringRef> names;
  for (llvm::Function& function : module) {
    if (function.isIntrinsic() || operation_of(function)) continue;
    bool as_data = false;
    for (const llvm::Use& use : function.uses()) as_data |= !is_direct_call(use);
    if (!as_data) continue;
    uint64_t address = function_address(kernel, function.getName());
    auto [known, fresh] = names.emplace(address, function.getName());
    if (!fresh && address >= objects::kFunctionsBegin) {
      throw Error::of("the functions '{}' and '{}' have the same number; rename one of them", known->second.str(),
                      function.getName().str());
    }
    function.replaceUsesWithIf(
        llvm::ConstantExpr::getIntToPtr(llvm::ConstantInt::get(number, address), function.getType()),
        [](llvm::Use& use) { return !is_direct_call(use); });
  }
}

}  // namespace mneme::codegen::host
