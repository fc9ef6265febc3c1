// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/reached.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>

#include "pass/kernel_functions.h"

namespace mneme::inject {
namespace {

// Equal but for the address spaces of pointers.
bool alike(llvm::Type* a, llvm::Type* b) {
  if (a == b || (a->isPointerTy() && b->isPointerTy())) return true;
  if (a->getTypeID() != b->getTypeID() || a->getNumContainedTypes() != b->getNumContainedTypes()) return false;
  if (a->getNumContainedTypes() == 0) return false;
  if (a->isArrayTy() && a->getArrayNumElements() != b->getArrayNumElements()) return false;
  return llvm::all_of(llvm::zip(a->subtypes(), b->subtypes()),
                      [](auto types) { return alike(std::get<0>(types), std::get<1>(types)); });
}

// Whether a variable's first contents hold the address of one of these functions, by way of others too.
bool holds(const llvm::GlobalVariable& variable, const std::vector<const llvm::Function*>& functions) {
  llvm::DenseSet<const llvm::Value*> seen = {&variable};
  llvm::SmallVector<const llvm::Value*, 16> pending = {&variable};
  while (!pending.empty()) {
    const llvm::Value* value = pending.pop_back_val();
    if (auto* function = llvm::dyn_cast<llvm::Function>(value)) {
      if (llvm::is_contained(functions, function)) return true;
    } else if (auto* constant = llvm::dyn_cast<llvm::Constant>(value)) {
      for (const llvm::Value* operand : constant->operand_values()) {
        if (seen.insert(operand).second) pending.push_back(operand);
      }
    }
  }
  return false;
}

}  // namespace

Reached::Reached(const llvm::Function& kernel) {
  const llvm::Module& unit = *kernel.getParent();
  visit(&kernel);
  follow();
  // What is added may call through pointers to more.
  for (size_t known = SIZE_MAX; !call_types_.empty() && known != seen_.size();) {
    known = seen_.size();
    add_callable(unit);
    add_variables(unit);
  }
}

std::vector<const llvm::GlobalObject*> Reached::by_pointer() const {
  std::vector<const llvm::GlobalObject*> all(callable_.begin(), callable_.end());
  all.insert(all.end(), holders_.begin(), holders_.end());
  return all;
}

void Reached::visit(const llvm::Value* value) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (constant && seen_.insert(constant).second) pending_.push_back(constant);
}

void Reached::follow() {
  while (!pending_.empty()) {
    const llvm::Constant* constant = pending_.pop_back_val();
    // Of a constant expression its parts, of a variable its initialiser, of an alias what it stands for.
    for (const llvm::Value* operand : constant->operand_values()) visit(operand);
    auto* function = llvm::dyn_cast<llvm::Function>(constant);
    if (!function) continue;
    for (const llvm::Instruction& instruction : llvm::instructions(*function)) {
      for (const llvm::Value* operand : instruction.operand_values()) visit(operand);
      note_call(instruction);
    }
  }
}

void Reached::note_call(const llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (!call || call->isInlineAsm() || llvm::isa<llvm::Function>(call->getCalledOperand()->stripPointerCasts())) return;
  if (!llvm::is_contained(call_types_, call->getFunctionType())) call_types_.push_back(call->getFunctionType());
}

void Reached::add_callable(const llvm::Module& unit) {
  callable_.clear();
  KernelFunctions kernels = kernels_in(unit);
  for (const llvm::Function& function : unit) {
    if (function.isIntrinsic() || kernels.contains(&function)) continue;
    bool fits = llvm::any_of(call_types_, [&](llvm::FunctionType* type) {
      return type->isVarArg() == function.isVarArg() && alike(type, function.getFunctionType());
    });
    if (!fits || !function.hasAddressTaken(nullptr, false, true, /*IgnoreLLVMUsed=*/true)) continue;
    callable_.push_back(&function);
    visit(&function);
  }
  follow();
}

void Reached::add_variables(const llvm::Module& unit) {
  holders_.clear();
  for (const llvm::GlobalVariable& variable : unit.globals()) {
    if (!variable.isExternallyInitialized() || !variable.hasInitializer() || !holds(variable, callable_)) continue;
    holders_.push_back(&variable);
    visit(&variable);
  }
  follow();
}

}  // namespace mneme::inject
