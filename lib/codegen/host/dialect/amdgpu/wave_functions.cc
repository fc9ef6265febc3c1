// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The device library's collectives, by name: a vote is one neutral operation, and inside the
// library several.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "codegen/host/dialect/amdgpu/intrinsics.h"
#include "codegen/host/dialect/amdgpu/raise.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilderBase;
// What takes a call's place: null: nothing; the call itself: it stays.
using Raise = llvm::function_ref<Value*(Builder&, llvm::CallInst&)>;

// Call by call: HIP's headers declare some functions to return an int where the library's return an i1.
void raise_calls(llvm::Module& module, llvm::StringRef name, unsigned parameters, Raise raise) {
  llvm::Function* function = module.getFunction(name);
  if (!function) return;
  for (llvm::User* user : llvm::make_early_inc_range(function->users())) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(user);
    if (!call || call->getCalledOperand() != function || call->arg_size() != parameters) continue;
    llvm::IRBuilder<> builder(call);
    Value* value = raise(builder, *call);
    if (value == call) continue;
    if (!call->getType()->isVoidTy()) call->replaceAllUsesWith(builder.CreateZExtOrTrunc(value, call->getType()));
    call->eraseFromParent();
  }
}

Value* holds(Builder& builder, llvm::CallInst& call) { return builder.CreateIsNotNull(call.getArgOperand(0)); }

Value* none_here(Builder& builder, Value* condition) { return builder.CreateIsNull(call_ballot(builder, condition)); }

void raise_votes(llvm::Module& module, uint32_t wave_size) {
  raise_calls(module, "__ockl_wfany_i32", 1, [](Builder& builder, llvm::CallInst& call) {
    return builder.CreateNot(none_here(builder, holds(builder, call)));
  });
  raise_calls(module, "__ockl_wfall_i32", 1, [](Builder& builder, llvm::CallInst& call) {
    return none_here(builder, builder.CreateNot(holds(builder, call)));
  });
  raise_calls(module, "__ockl_wfsame_i32", 1, [](Builder& builder, llvm::CallInst& call) {
    Value* some = call_ballot(builder, holds(builder, call));
    Value* all = builder.CreateICmpEQ(some, active_lanes(builder));
    return builder.CreateOr(all, builder.CreateIsNull(some));
  });
  raise_calls(module, "__ockl_lane_u32", 0,
              [&](Builder& builder, llvm::CallInst&) { return lane_index(builder, wave_size); });
  // __lane_id(): all lanes below this one, in the wave's two halves.
  raise_calls(module, "llvm.amdgcn.mbcnt.hi", 2, [&](Builder& builder, llvm::CallInst& call) -> Value* {
    auto* low = llvm::dyn_cast<llvm::IntrinsicInst>(call.getArgOperand(1));
    if (!low || low->getIntrinsicID() != llvm::Intrinsic::amdgcn_mbcnt_lo) return &call;
    for (llvm::CallInst* half : {&call, static_cast<llvm::CallInst*>(low)}) {
      auto* mask = llvm::dyn_cast<llvm::ConstantInt>(half->getArgOperand(0));
      if (!mask || !mask->isMinusOne()) return &call;
    }
    return builder.CreateAdd(low->getArgOperand(1), lane_index(builder, wave_size));
  });
  raise_calls(module, "__ockl_activelane_u32", 0, [&](Builder& builder, llvm::CallInst&) {
    return count_below(builder, active_lanes(builder), wave_size);
  });
}

// __syncthreads_count, _and, _or. The library's functions take any integers; only those of truth values are counts.
void raise_block_votes(llvm::Module& module) {
  auto raise = [&](llvm::StringRef name, bool negated, llvm::function_ref<Value*(Builder&, Value*)> answer) {
    raise_calls(module, name, 1, [&](Builder& builder, llvm::CallInst& call) -> Value* {
      auto* widened = llvm::dyn_cast<llvm::ZExtInst>(call.getArgOperand(0));
      if (!widened || !widened->getSrcTy()->isIntegerTy(1)) return &call;
      Value* condition = widened->getOperand(0);
      return answer(builder, call_barrier_count(builder, negated ? builder.CreateNot(condition) : condition));
    });
  };
  raise("__ockl_wgred_add_i32", false, [](Builder&, Value* count) { return count; });
  raise("__ockl_wgred_and_i32", true, [](Builder& builder, Value* count) { return builder.CreateIsNull(count); });
  raise("__ockl_wgred_or_i32", false, [](Builder& builder, Value* count) { return builder.CreateIsNotNull(count); });
}

Value* product(Builder& builder, Query what) {
  Value* result = call_query(builder, what, 0);
  for (unsigned dimension : {1u, 2u}) result = builder.CreateMul(result, call_query(builder, what, dimension));
  return result;
}

// The number of a block among all, x fastest, times their size, and the thread in it.
Value* thread_in_grid(Builder& builder) {
  Value* plane = builder.CreateMul(call_query(builder, Query::kGroupId, 2), call_query(builder, Query::kGroupCount, 1));
  Value* row = builder.CreateAdd(plane, call_query(builder, Query::kGroupId, 1));
  Value* block = builder.CreateAdd(builder.CreateMul(row, call_query(builder, Query::kGroupCount, 0)),
                                   call_query(builder, Query::kGroupId, 0));
  return builder.CreateAdd(builder.CreateMul(block, product(builder, Query::kLocalSize)), thread_index(builder));
}

// Cooperative groups of the whole grid; of several devices there is always one.
void raise_grid(llvm::Module& module) {
  for (const char* name : {"__ockl_grid_sync", "__ockl_multi_grid_sync"}) {
    raise_calls(module, name, 0, [](Builder& builder, llvm::CallInst&) { return call_grid_barrier(builder); });
  }
  auto answer = [&](llvm::StringRef name, llvm::function_ref<Value*(Builder&)> value) {
    raise_calls(module, name, 0, [&](Builder& builder, llvm::CallInst&) { return value(builder); });
  };
  for (const char* name : {"__ockl_grid_is_valid", "__ockl_multi_grid_is_valid", "__ockl_multi_grid_num_grids"}) {
    answer(name, [](Builder& builder) { return builder.getInt32(1); });
  }
  answer("__ockl_multi_grid_grid_rank", [](Builder& builder) { return builder.getInt32(0); });
  answer("__ockl_multi_grid_thread_rank", thread_in_grid);
  answer("__ockl_multi_grid_size", [](Builder& builder) {
    return builder.CreateMul(product(builder, Query::kGroupCount), product(builder, Query::kLocalSize));
  });
}

}  // namespace

void raise_wave_functions(llvm::Module& module, uint32_t wave_size) {
  raise_votes(module, wave_size);
  raise_block_votes(module);
  raise_grid(module);
  // What __syncthreads() calls: a barrier between two fences that depend on arguments.
  for (const char* name : {"_ZL9__barrieri", "_Z9__barrieri"}) {
    raise_calls(module, name, 1, [](Builder& builder, llvm::CallInst&) { return call_barrier(builder); });
  }
}

}  // namespace mneme::codegen::host
