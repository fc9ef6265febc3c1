// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The neutral form: what stands between a vendor's dialect of LLVM IR and the host. Work-item,
// memory and synchronisation operations are calls of functions named "mneme.…"; everything else is
// ordinary IR in one address space. A dialect raises to it (dialect/amdgpu/raise.cc), a target lowers from it.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
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

// `ptr mneme.context()`: the BlockContext (abi.h).
llvm::Value* call_context(llvm::IRBuilderBase& builder);
// `ptr mneme.wave.memory(i32 bytes)`: memory that the lanes of a wave share, and no other wave; aligned to 16 bytes,
// the same each time, as large as the largest that is asked for. It holds nothing at first. Lanes synchronise between a
// write of one's and a read of another's.
llvm::Value* call_wave_memory(llvm::IRBuilderBase& builder, uint32_t bytes);
// The largest, a multiple of 64 bytes; 0: none is asked for.
uint64_t wave_memory_size(llvm::Module& module);
// An attribute of a kernel whose source asks for ids of the first dimension only; lane_index asks for all of them.
inline constexpr llvm::StringLiteral kOneDimension = "mneme-one-dimension";
// The work-item's linear index in the block, i32, x fastest; and in its wave.
llvm::Value* thread_index(llvm::IRBuilderBase& builder);
llvm::Value* lane_index(llvm::IRBuilderBase& builder, uint32_t wave_size);

// Collectives. Of the block, for every work-item of it that has not ended:
//   void mneme.barrier()
//   i32 mneme.barrier.count(i1)        how many brought `true`
//   void mneme.barrier.grid()          every block's
llvm::CallInst* call_barrier(llvm::IRBuilderBase& builder);
llvm::CallInst* call_barrier_count(llvm::IRBuilderBase& builder, llvm::Value* condition);
llvm::CallInst* call_grid_barrier(llvm::IRBuilderBase& builder);

// Of a wave (`wave_size` work-items, consecutive by thread_index), for the lanes that are at this very one in the same
// iterations of the loops around it; others have ended or are elsewhere.
//   void mneme.wave.sync()                    no more than that
//   i64 mneme.wave.ballot(i1)                 a bit for each lane that brought `true`
//   T mneme.wave.permute.T(T, T, i32 lane)    the first value of `lane` (below the wave's size); where that lane is not
//                                             here, one's own second value
//   T mneme.wave.first.T(T)                   the value of the lowest lane here
// T: i32 or i64.
llvm::CallInst* call_wave_sync(llvm::IRBuilderBase& builder);
llvm::CallInst* call_ballot(llvm::IRBuilderBase& builder, llvm::Value* condition);
llvm::CallInst* call_permute(llvm::IRBuilderBase& builder, llvm::Value* value, llvm::Value* otherwise,
                             llvm::Value* lane);
llvm::CallInst* call_first(llvm::IRBuilderBase& builder, llvm::Value* value);

// In place of inline assembly that clobbers memory, asm("" ::: "memory") too: no access is moved over it. A fence of
// one thread, until lanes are kept in step (sync/in_step.h).
void fence_compiler(llvm::CallBase& assembly);

// Whether it orders memory for no more than the block's work-items.
bool within_block(const llvm::FenceInst& fence);
bool within_block(const llvm::LLVMContext& context, llvm::SyncScope::ID scope);

// `void mneme.step()`: work-items that go through a loop in step pass here one after the other, and nobody waits for
// anybody who does not come (step_loops.h). Only in the loop form.
llvm::CallInst* call_step(llvm::IRBuilderBase& builder);
// `void mneme.joint()`: the same for code that is to be there once (share_code.h).
llvm::CallInst* call_joint(llvm::IRBuilderBase& builder);
// `void mneme.yield()`: the work-item waits by reading memory again and again; the others go on meanwhile. Nobody waits
// there for anybody, but lanes that are at a later collective of their wave wait for those that are here (waits.h).
llvm::CallInst* call_yield(llvm::IRBuilderBase& builder);

// `mneme.service.<name>`: one of abi.h's Services; `arguments` are those after the thread.
llvm::CallInst* call_service(llvm::IRBuilderBase& builder, std::string_view name, llvm::Type* result,
                             llvm::ArrayRef<llvm::Value*> arguments);
// Ends the launch with one of abi.h's BlockFaults. The code behind it is never reached, but goes on as if it were.
llvm::CallInst* call_stop(llvm::IRBuilderBase& builder, uint32_t fault, llvm::Value* text = nullptr);

// `void mneme.end()`: ends the work-item. Gone once all is inlined into the kernel (simplify.h: return_at_ends).
llvm::CallInst* call_end(llvm::IRBuilderBase& builder);
bool is_end(const llvm::Function& function);

enum class OperationKind {
  kQuery,
  kImplicit,
  kDispatch,
  kContext,
  kWaveMemory,
  kBarrier,
  kBarrierCount,
  kBarrierGrid,
  kWaveSync,
  kBallot,
  kPermute,
  kFirst,
  kStep,
  kJoint,
  kYield,
  kService
};
struct Operation {
  OperationKind kind;
  Query query;
  unsigned dimension;
  unsigned service = 0;  // index in Services
};
// Whether it is a collective of the block, or of a wave.
bool is_block_collective(const Operation& operation);
bool is_wave_collective(const Operation& operation);
bool is_step(const Operation& operation);
bool is_joint(const Operation& operation);
bool is_yield(const Operation& operation);
// A convergence point: where a work-item may stop for others. A collective, or a yield.
bool is_convergence_point(const Operation& operation);
// What a function is, if it is a neutral operation.
std::optional<Operation> operation_of(const llvm::Function& function);
// The operation that a value is a call of, if it is one; and the dimension that it asks about, if it is this query.
std::optional<Operation> operation_at(const llvm::Value& value);
std::optional<unsigned> queried_dimension(const llvm::Value& value, Query query);
// Whether a module has collectives of waves.
bool has_wave_collectives(const llvm::Module& module);
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
// Whether it is shared memory, of either kind.
bool is_blocks_own(const llvm::GlobalVariable& variable);

// An access whose effect on other work-items of the block shows before the next barrier: what an atomic
// became. A loop over work-items must keep their order.
void mark_item_ordered(llvm::Instruction& access);
bool is_item_ordered(const llvm::Instruction& access);

}  // namespace mneme::codegen::host
