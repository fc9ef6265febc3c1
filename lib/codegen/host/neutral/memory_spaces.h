// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the memories of a block and of a work-item lie, while raising.
#pragma once
#include <llvm/IR/IRBuilder.h>

namespace mneme::codegen::host {

// The beginning of the block's shared memory, and its bytes: all of them (i32), and the dynamic ones, which come last.
llvm::Value* shared_beginning(llvm::IRBuilderBase& builder);
llvm::Value* shared_size(llvm::IRBuilderBase& builder);
llvm::Value* shared_dynamic_size(llvm::IRBuilderBase& builder);

// Whether an address is in the block's shared memory, or of a variable of the work-item's.
llvm::Value* is_shared(llvm::IRBuilderBase& builder, llvm::Value* pointer);
llvm::Value* is_private(llvm::IRBuilderBase& builder, llvm::Value* pointer);

}  // namespace mneme::codegen::host
