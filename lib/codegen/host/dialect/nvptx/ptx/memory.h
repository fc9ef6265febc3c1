// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory as instructions of PTX name it.
#pragma once
#include "codegen/host/dialect/nvptx/ptx/ptx.h"

namespace mneme::codegen::host {

// global, shared, local, const, param; empty: a generic address.
llvm::StringRef take_ptx_space(PtxName& name);
// cta, cluster, gpu, sys; empty: none.
llvm::StringRef take_ptx_scope(PtxName& name);

// An operand as a pointer; null: not in this space.
llvm::Value* ptx_address(llvm::IRBuilderBase& builder, llvm::Value* operand, llvm::StringRef space);
llvm::Value* is_in_space(llvm::IRBuilderBase& builder, llvm::Value* pointer, llvm::StringRef space);

// For the block, or for all.
void fence_scope(llvm::IRBuilderBase& builder, bool block);

// cp.async of 4, 8 or 16 bytes, of which the first `given` (null: all) come from memory.
void copy_asynchronously(llvm::IRBuilderBase& builder, llvm::Value* to, llvm::Value* from, uint64_t size,
                         llvm::Value* given);

// mbarrier.
PtxResult raise_ptx_mbarrier(PtxInstruction& instruction);
// One comes to it, without asking for the state.
void arrive_at_mbarrier(llvm::IRBuilderBase& builder, llvm::Value* barrier);
// So many bytes more are to come, or have come.
void expect_bytes(llvm::IRBuilderBase& builder, llvm::Value* barrier, llvm::Value* bytes, bool have_come);

// atom and red.
PtxResult raise_ptx_atomic(PtxInstruction& instruction);
// One update; the old value.
llvm::Value* update_memory(llvm::IRBuilderBase& builder, llvm::StringRef operation, llvm::Value* address,
                           llvm::ArrayRef<llvm::Value*> operands, const PtxType& type,
                           llvm::AtomicOrdering ordering = llvm::AtomicOrdering::Monotonic);

}  // namespace mneme::codegen::host
