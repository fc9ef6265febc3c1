// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code that reads and writes the shadow of memory (WrittenMemory, abi.h). An address that has none reads as written.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include "codegen/host/sync/shared_access.h"

namespace mneme::codegen::host {

class WrittenMemoryAccess {
 public:
  explicit WrittenMemoryAccess(llvm::IRBuilder<>& builder) : builder_(builder) {}

  // Whether an access of so many bytes is followed.
  static bool takes(uint64_t size);

  // The shadow of `size` bytes, as an integer of as many. `in_order`: it keeps its place among other accesses.
  llvm::Value* load(llvm::Value* pointer, Space space, uint64_t size, bool in_order);
  void store(llvm::Value* pointer, Space space, uint64_t size, llvm::Value* shadow, bool in_order);

 private:
  llvm::Value* member(unsigned index, llvm::Type* type);
  llvm::Value* within(llvm::Value* pointer, unsigned first, llvm::Value* otherwise);
  llvm::Value* place(llvm::Value* pointer, Space space, unsigned otherwise);

  llvm::IRBuilder<>& builder_;
};

}  // namespace mneme::codegen::host
