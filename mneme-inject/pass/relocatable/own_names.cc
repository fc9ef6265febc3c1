// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/relocatable/own_names.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <string>

#include "base/digest.h"
#include "pass/closure.h"

namespace mneme::inject {
namespace {

constexpr llvm::StringLiteral kMark = "__static__";  // as clang has it in names of what the host registers
constexpr size_t kHashDigits = 16;

// Prints, or says what failed: that keeps no address.
bool is_told(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  return callee && (callee->getName() == "vprintf" || callee->getName() == "__assertfail");
}

bool is_only_read(const llvm::Value& address) {
  return llvm::all_of(address.uses(), [](const llvm::Use& use) {
    const llvm::User* user = use.getUser();
    if (llvm::isa<llvm::LoadInst>(user)) return true;
    if (llvm::isa<llvm::AnyMemTransferInst>(user)) return use.getOperandNo() == 1;
    if (auto* call = llvm::dyn_cast<llvm::CallBase>(user)) return call->isArgOperand(&use) && is_told(*call);
    const bool leads_on = llvm::isa<llvm::GEPOperator, llvm::AddrSpaceCastOperator, llvm::BitCastOperator>(user);
    return leads_on && is_only_read(*user);
  });
}

bool holds_addresses(const llvm::Constant& contents) {
  return contents.getType()->isPointerTy() ? !llvm::isa<llvm::ConstantPointerNull>(contents)
                                           : llvm::any_of(contents.operands(), [](const llvm::Use& part) {
                                               auto* constant = llvm::dyn_cast<llvm::Constant>(part);
                                               return constant && holds_addresses(*constant);
                                             });
}

llvm::SmallVector<llvm::GlobalObject*> its_own(llvm::Module& unit) {
  llvm::SmallVector<llvm::GlobalObject*> own;
  for (llvm::Function& function : unit) {
    const bool is_pointed = function.hasAddressTaken(nullptr, false, true, /*IgnoreLLVMUsed=*/true);
    if (!function.isDeclaration() && function.hasLocalLinkage() && is_pointed) own.push_back(&function);
  }
  for (llvm::GlobalVariable& variable : unit.globals()) {
    if (!variable.isConstant() || !variable.hasLocalLinkage() || !variable.hasInitializer()) continue;
    if (!variable.hasName() || variable.getName().starts_with("llvm.")) continue;
    if (!is_only_read(variable) || holds_addresses(*variable.getInitializer())) own.push_back(&variable);
  }
  return own;
}

// Of all that the unit's code does, and nothing that says where it was compiled.
std::string hash_of(const llvm::Module& unit) {
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(unit);
  llvm::StripDebugInfo(*copy);
  while (!copy->named_metadata_empty()) copy->eraseNamedMetadata(&*copy->named_metadata_begin());
  copy->setModuleIdentifier("mneme");
  copy->setSourceFileName("mneme");
  return digest_of(bitcode_of(*copy)).hex().substr(0, kHashDigits);
}

}  // namespace

void name_what_is_its_own(llvm::Module& unit) {
  llvm::SmallVector<llvm::GlobalObject*> own = its_own(unit);
  if (own.empty()) return;
  const std::string suffix = kMark.str() + hash_of(unit);
  for (llvm::GlobalObject* object : own) object->setName(object->getName() + suffix);
}

bool has_own_name(const llvm::GlobalVariable& variable) {
  return variable.isConstant() && variable.hasLocalLinkage() && variable.getName().contains(kMark);
}

}  // namespace mneme::inject
