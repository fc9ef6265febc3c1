// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include <vector>

#include "bundle/format.h"

namespace mneme::ir {

// Whether a value's bits are those of its operands: what puts values together and chooses among them.
inline bool puts_together(const llvm::User& value) {
  return llvm::isa<llvm::BitCastOperator, llvm::PHINode, llvm::SelectInst, llvm::InsertElementInst,
                   llvm::ExtractElementInst, llvm::ShuffleVectorInst, llvm::InsertValueInst, llvm::ExtractValueInst,
                   llvm::FreezeInst>(value);
}

// What the kernel stores through each pointer in its arguments, to each device variable, and through pointers of other
// origin (loaded from memory, or computed), all of the latter together. Stores to shared memory and to the work-item's
// own do not count; zero is that of every type, and counts where nothing else is stored. Vectors, arrays and structures
// are of the type that all in them have. The module is inlined, as far as it goes, and its locals are promoted;
// `is_shared` says which variables are a block's own.
std::vector<bundle::StoreType> store_types(const llvm::Module& module, const bundle::KernelInfo& kernel,
                                           llvm::function_ref<bool(const llvm::GlobalVariable&)> is_shared);

}  // namespace mneme::ir
