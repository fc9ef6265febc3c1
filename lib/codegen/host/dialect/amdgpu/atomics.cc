// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMDGPU's intrinsics for atomic updates: LLVM's own instructions, on the addresses that they name.
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "codegen/host/dialect/amdgpu/intrinsics.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

using llvm::AtomicRMWInst;
using llvm::Value;
using Builder = llvm::IRBuilderBase;

constexpr llvm::AtomicOrdering kRelaxed = llvm::AtomicOrdering::Monotonic;

Value* update(Builder& builder, AtomicRMWInst::BinOp operation, Value* address, Value* value) {
  return builder.CreateAtomicRMW(operation, address, value, llvm::MaybeAlign(), kRelaxed);
}

// Packed bfloat16 comes as integers of that size.
Value* add_packed(Builder& builder, Value* address, Value* value) {
  llvm::Type* given = value->getType();
  llvm::Type* numbers = llvm::FixedVectorType::get(builder.getBFloatTy(), 2);
  Value* old = update(builder, AtomicRMWInst::FAdd, address, builder.CreateBitCast(value, numbers));
  return builder.CreateBitCast(old, given);
}

// ds_append, ds_consume: one update by the number of lanes that are here, whose old value all of them get.
Value* count_lanes(Builder& builder, llvm::CallInst& call, AtomicRMWInst::BinOp operation, uint32_t wave_size) {
  Value* lanes = active_lanes(builder);
  Value* count = builder.CreateTrunc(builder.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, lanes), builder.getInt32Ty());
  Value* first = builder.CreateIsNull(count_below(builder, lanes, wave_size));
  Value* share = builder.CreateSelect(first, count, builder.getInt32(0));
  return call_first(builder, update(builder, operation, call.getArgOperand(0), share));
}

}  // namespace

Raised raise_atomic_intrinsic(Builder& builder, llvm::CallInst& call, uint32_t wave_size) {
  auto update_by = [&](AtomicRMWInst::BinOp operation) {
    return update(builder, operation, call.getArgOperand(0), call.getArgOperand(1));
  };
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::amdgcn_global_atomic_fadd:
    case llvm::Intrinsic::amdgcn_flat_atomic_fadd:
      return update_by(AtomicRMWInst::FAdd);
    case llvm::Intrinsic::amdgcn_global_atomic_fmin:
    case llvm::Intrinsic::amdgcn_global_atomic_fmin_num:
    case llvm::Intrinsic::amdgcn_flat_atomic_fmin:
    case llvm::Intrinsic::amdgcn_flat_atomic_fmin_num:
      return update_by(AtomicRMWInst::FMin);
    case llvm::Intrinsic::amdgcn_global_atomic_fmax:
    case llvm::Intrinsic::amdgcn_global_atomic_fmax_num:
    case llvm::Intrinsic::amdgcn_flat_atomic_fmax:
    case llvm::Intrinsic::amdgcn_flat_atomic_fmax_num:
      return update_by(AtomicRMWInst::FMax);
    case llvm::Intrinsic::amdgcn_global_atomic_fadd_v2bf16:
    case llvm::Intrinsic::amdgcn_flat_atomic_fadd_v2bf16:
      return add_packed(builder, call.getArgOperand(0), call.getArgOperand(1));
    case llvm::Intrinsic::amdgcn_ds_append:
      return count_lanes(builder, call, AtomicRMWInst::Add, wave_size);
    case llvm::Intrinsic::amdgcn_ds_consume:
      return count_lanes(builder, call, AtomicRMWInst::Sub, wave_size);
    default:
      return std::nullopt;
  }
}

}  // namespace mneme::codegen::host
