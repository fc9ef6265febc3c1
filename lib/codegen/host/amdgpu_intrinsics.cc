// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMDGPU's intrinsics, one by one, as they are met in what the device library leaves.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include <numbers>

#include "codegen/host/neutral.h"
#include "codegen/host/raise_amdgpu.h"

namespace mneme::codegen::host {
namespace {

using llvm::Intrinsic::ID;

llvm::Value* in_address_space(llvm::IRBuilderBase& builder, llvm::Value* pointer, llvm::Type* type) {
  return pointer->getType() == type ? pointer : builder.CreateAddrSpaceCast(pointer, type);
}

// The bits [offset, offset + width) of a 32-bit value; a width of zero gives zero.
llvm::Value* bit_field(llvm::IRBuilderBase& builder, llvm::CallInst& call, bool is_signed) {
  llvm::Value* offset = builder.CreateAnd(call.getArgOperand(1), 31);
  llvm::Value* width = builder.CreateAnd(call.getArgOperand(2), 31);
  llvm::Value* zero = llvm::ConstantInt::get(call.getType(), 0);
  llvm::Value* bits = llvm::ConstantInt::get(call.getType(), 32);
  llvm::Value* end = builder.CreateAdd(offset, width);
  llvm::Value* fits = builder.CreateICmpULT(end, bits);
  llvm::Value* left = builder.CreateSelect(fits, builder.CreateSub(bits, end), zero);
  llvm::Value* raised = builder.CreateShl(call.getArgOperand(0), left);
  llvm::Value* right = builder.CreateAnd(builder.CreateSelect(fits, builder.CreateSub(bits, width), offset), 31);
  llvm::Value* field = is_signed ? builder.CreateAShr(raised, right) : builder.CreateLShr(raised, right);
  return builder.CreateSelect(builder.CreateICmpEQ(width, zero), zero, field);
}

llvm::Value* fraction(llvm::IRBuilderBase& builder, llvm::Value* x) {
  // x - floor(x), kept below one: the largest float below it stands for what rounds up.
  llvm::Value* difference = builder.CreateFSub(x, builder.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x));
  llvm::APFloat below = llvm::APFloat::getOne(x->getType()->getFltSemantics());
  below.next(true);
  llvm::Value* limit = llvm::ConstantFP::get(x->getType(), below);
  return builder.CreateSelect(builder.CreateFCmpOGT(difference, limit), limit, difference);
}

llvm::Value* raised(llvm::IRBuilderBase& builder, llvm::CallInst& call, const bundle::KernelInfo& kernel) {
  auto query = [&](Query what, unsigned dimension) { return call_query(builder, what, dimension); };
  auto operand = [&](unsigned i) { return call.getArgOperand(i); };
  llvm::Type* type = call.getType();
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::amdgcn_workitem_id_x:
      return query(Query::kLocalId, 0);
    case llvm::Intrinsic::amdgcn_workitem_id_y:
      return query(Query::kLocalId, 1);
    case llvm::Intrinsic::amdgcn_workitem_id_z:
      return query(Query::kLocalId, 2);
    case llvm::Intrinsic::amdgcn_workgroup_id_x:
      return query(Query::kGroupId, 0);
    case llvm::Intrinsic::amdgcn_workgroup_id_y:
      return query(Query::kGroupId, 1);
    case llvm::Intrinsic::amdgcn_workgroup_id_z:
      return query(Query::kGroupId, 2);
    case llvm::Intrinsic::amdgcn_implicitarg_ptr:
      return in_address_space(builder, call_implicit(builder), type);
    case llvm::Intrinsic::amdgcn_dispatch_ptr:
      return in_address_space(builder, call_dispatch(builder), type);
    case llvm::Intrinsic::amdgcn_wavefrontsize:
      return builder.getInt32(kernel.wave_size);

    case llvm::Intrinsic::amdgcn_rcp:
      return builder.CreateFDiv(llvm::ConstantFP::get(type, 1.0), operand(0));
    case llvm::Intrinsic::amdgcn_rsq:
      return builder.CreateFDiv(llvm::ConstantFP::get(type, 1.0),
                                builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, operand(0)));
    case llvm::Intrinsic::amdgcn_sqrt:
      return builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, operand(0));
    case llvm::Intrinsic::amdgcn_fract:
      return fraction(builder, operand(0));
    case llvm::Intrinsic::amdgcn_frexp_mant:
    case llvm::Intrinsic::amdgcn_frexp_exp: {
      llvm::Value* parts =
          builder.CreateIntrinsic(llvm::Intrinsic::frexp, {operand(0)->getType(), builder.getInt32Ty()}, {operand(0)});
      bool mantissa = call.getIntrinsicID() == llvm::Intrinsic::amdgcn_frexp_mant;
      llvm::Value* part = builder.CreateExtractValue(parts, mantissa ? 0 : 1);
      return mantissa ? part : builder.CreateSExtOrTrunc(part, type);
    }
    case llvm::Intrinsic::amdgcn_class: {
      // Which classes of number to ask for is a run-time value there and a constant here.
      auto* classes = llvm::dyn_cast<llvm::ConstantInt>(operand(1));
      return classes ? builder.createIsFPClass(operand(0), static_cast<unsigned>(classes->getZExtValue())) : nullptr;
    }
    case llvm::Intrinsic::amdgcn_fmed3: {
      llvm::Value* low = builder.CreateMinNum(operand(0), operand(1));
      llvm::Value* high = builder.CreateMaxNum(operand(0), operand(1));
      return builder.CreateMaxNum(low, builder.CreateMinNum(high, operand(2)));
    }
    case llvm::Intrinsic::amdgcn_ubfe:
      return bit_field(builder, call, false);
    case llvm::Intrinsic::amdgcn_sbfe:
      return bit_field(builder, call, true);
    case llvm::Intrinsic::amdgcn_mul_u24:
    case llvm::Intrinsic::amdgcn_mul_i24: {
      bool is_signed = call.getIntrinsicID() == llvm::Intrinsic::amdgcn_mul_i24;
      auto low = [&](llvm::Value* x) {
        llvm::Value* up = builder.CreateShl(builder.CreateZExtOrTrunc(x, type), 8);
        return is_signed ? builder.CreateAShr(up, 8) : builder.CreateLShr(up, 8);
      };
      return type->isIntegerTy(32) ? builder.CreateMul(low(operand(0)), low(operand(1))) : nullptr;
    }
    case llvm::Intrinsic::amdgcn_alignbyte:
      return builder.CreateIntrinsic(llvm::Intrinsic::fshr, {type},
                                     {operand(0), operand(1), builder.CreateShl(operand(2), 3)});

    case llvm::Intrinsic::amdgcn_s_memtime:
    case llvm::Intrinsic::amdgcn_s_memrealtime:
      return builder.CreateIntrinsic(llvm::Intrinsic::readcyclecounter, {}, {});
    default:
      return nullptr;
  }
}

}  // namespace

bool raise_intrinsic(llvm::CallInst& call, const bundle::KernelInfo& kernel) {
  llvm::IRBuilder<> builder(&call);
  if (call.getType()->isFPOrFPVectorTy()) {
    if (auto* math = llvm::dyn_cast<llvm::FPMathOperator>(&call)) builder.setFastMathFlags(math->getFastMathFlags());
  }
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::amdgcn_s_barrier:
      call_barrier(builder);
      call.eraseFromParent();
      return true;
    case llvm::Intrinsic::amdgcn_s_sleep:       // a hint
    case llvm::Intrinsic::amdgcn_wave_barrier:  // orders the compiler's moves within a wave: none here
    case llvm::Intrinsic::amdgcn_sched_barrier:
      call.eraseFromParent();
      return true;
    default:
      break;
  }
  llvm::Value* value = raised(builder, call, kernel);
  if (!value) return false;
  call.replaceAllUsesWith(value);
  call.eraseFromParent();
  return true;
}

}  // namespace mneme::codegen::host
