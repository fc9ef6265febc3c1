// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/IRBuilder.h>

namespace mneme::codegen::host {

// An empty `void mneme.run_block(ptr context)`.
llvm::Function& declare_block_function(llvm::Module& module);

// `for (i = 0; i < count; ++i) body(i)` for a count of at least one. The builder is left behind the loop.
void make_loop(llvm::IRBuilder<>& builder, llvm::Value* count, llvm::MDNode* metadata,
               llvm::function_ref<void(llvm::Value*)> body);

// Runs `body(x, y, z, index)` for each work-item of the context's block, x fastest; `index` is the linear one (i64).
void for_each_item(llvm::IRBuilder<>& builder, llvm::Value* context, llvm::MDNode* metadata,
                   llvm::function_ref<void(llvm::Value*, llvm::Value*, llvm::Value*, llvm::Value*)> body);

// The same for the work-items from `first` to before `last` (linear indices, i64), at least one.
void for_items_between(llvm::IRBuilder<>& builder, llvm::Value* context, llvm::Value* first, llvm::Value* last,
                       llvm::MDNode* metadata,
                       llvm::function_ref<void(llvm::Value*, llvm::Value*, llvm::Value*, llvm::Value*)> body);

// The number of work-items in the context's block (i64).
llvm::Value* count_items(llvm::IRBuilder<>& builder, llvm::Value* context);

}  // namespace mneme::codegen::host
