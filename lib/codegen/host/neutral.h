// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The neutral form: what stands between a vendor's dialect of LLVM IR and the host. Work-item,
// memory and synchronisation operations are calls of functions named "mneme.…"; everything else is
// ordinary IR in one address space. A dialect raises to it (raise_amdgpu.cc), a target lowers from it.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <optional>
#include <string_view>

namespace mneme::codegen::host {

// Operations on the launch: `i32 mneme.<query>.<x|y|z>()`, without side effects.
enum class Query { kLocalId, kGroupId, kLocalSize, kGroupCount };
llvm::Value* call_query(llvm::IRBuilderBase& builder, Query query, unsigned dimension);

// `ptr mneme.implicit()`, `ptr mneme.dispatch()`: the vendor's structures in BlockContext.
llvm::Value* call_implicit(llvm::IRBuilderBase& builder);
llvm::Value* call_dispatch(llvm::IRBuilderBase& builder);

// `void mneme.barrier()`: every work-item of the block that has not ended meets here.
void call_barrier(llvm::IRBuilderBase& builder);

enum class OperationKind { kQuery, kImplicit, kDispatch, kBarrier };
struct Operation {
  OperationKind kind;
  Query query;
  unsigned dimension;
};
// What a function is, if it is a neutral operation.
std::optional<Operation> operation_of(const llvm::Function& function);
// The calls of neutral operations in a function.
std::vector<std::pair<llvm::CallInst*, Operation>> operations_in(llvm::Function& function);

// The memory that a module-level variable stands for, kept as an attribute of it.
enum class MemoryClass {
  kPrivateConstant,  // constants that only this code sees; they live in the code object
  kDevice,           // __device__ and __constant__ variables: their memory is the caller's
  kShared,           // static shared memory
  kSharedDynamic     // dynamic shared memory
};
void set_memory_class(llvm::GlobalVariable& variable, MemoryClass memory);
MemoryClass memory_class(const llvm::GlobalVariable& variable);

// An access whose effect on other work-items of the block shows before the next barrier: what an atomic
// became. A loop over work-items must keep their order.
void mark_item_ordered(llvm::Instruction& access);
bool is_item_ordered(const llvm::Instruction& access);

}  // namespace mneme::codegen::host
