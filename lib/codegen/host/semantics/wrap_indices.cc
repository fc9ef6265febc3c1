// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/semantics/wrap_indices.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

bool has_narrow_pointers(const llvm::Value* object) {
  auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(object);
  if (!variable) return llvm::isa<llvm::AllocaInst>(object);
  return is_blocks_own(*variable);
}

bool leads_to_narrow_pointers(const llvm::Value* pointer) {
  llvm::SmallVector<const llvm::Value*, 4> objects;
  llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);
  return llvm::all_of(objects, has_narrow_pointers);
}

}  // namespace

void wrap_indices(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* element = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction);
      if (!element || !leads_to_narrow_pointers(element->getPointerOperand())) continue;
      for (llvm::Use& index : element->indices()) {
        auto* widened = llvm::dyn_cast<llvm::ZExtInst>(index);
        if (!widened || widened->hasNonNeg() || !widened->getSrcTy()->isIntegerTy(32)) continue;
        // Modulo 2^32 the product with the element's size is the same.
        llvm::IRBuilder<> builder(element);
        index.set(builder.CreateSExt(widened->getOperand(0), widened->getType()));
      }
    }
  }
}

}  // namespace mneme::codegen::host
