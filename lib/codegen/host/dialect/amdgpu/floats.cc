// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMDGPU's intrinsics on floating-point numbers that are arithmetic (elementary functions are amdgpu_math's).
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "codegen/host/dialect/amdgpu/intrinsics.h"

namespace mneme::codegen::host {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilderBase;

Value* number(llvm::Type* type, double value) { return llvm::ConstantFP::get(type, value); }

Value* fraction(Builder& builder, Value* x) {
  // x - floor(x), kept below one: the largest float below it stands for what rounds up.
  Value* difference = builder.CreateFSub(x, builder.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x));
  llvm::APFloat below = llvm::APFloat::getOne(x->getType()->getScalarType()->getFltSemantics());
  below.next(true);
  Value* limit = llvm::ConstantFP::get(x->getType(), below);
  return builder.CreateSelect(builder.CreateFCmpOGT(difference, limit), limit, difference);
}

Value* reciprocal_root(Builder& builder, Value* x) {
  Value* root = builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
  return builder.CreateFDiv(number(x->getType(), 1.0), root);
}

Value* median(Builder& builder, llvm::CallInst& call) {
  Value* low = builder.CreateMinNum(call.getArgOperand(0), call.getArgOperand(1));
  Value* high = builder.CreateMaxNum(call.getArgOperand(0), call.getArgOperand(1));
  return builder.CreateMaxNum(low, builder.CreateMinNum(high, call.getArgOperand(2)));
}

// Rounded to half precision, towards zero: the nearest, or the one below it if that has gone too far.
Value* half_towards_zero(Builder& builder, Value* x) {
  Value* nearest = builder.CreateFPTrunc(x, builder.getHalfTy());
  Value* back = builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, builder.CreateFPExt(nearest, x->getType()));
  Value* too_far = builder.CreateFCmpOGT(back, builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x));
  Value* bits = builder.CreateBitCast(nearest, builder.getInt16Ty());
  return builder.CreateBitCast(builder.CreateSub(bits, builder.CreateZExt(too_far, bits->getType())),
                               builder.getHalfTy());
}

Value* pair(Builder& builder, llvm::CallInst& call, llvm::function_ref<Value*(Value*)> convert) {
  Value* result = llvm::PoisonValue::get(call.getType());
  for (unsigned i = 0; i < 2; ++i) {
    result = builder.CreateInsertElement(result, convert(call.getArgOperand(i)), i);
  }
  return result;
}

// A number of [low, 1] as a 16-bit integer of as many steps.
Value* normalised(Builder& builder, Value* x, double low, double steps) {
  Value* limited = builder.CreateMinNum(builder.CreateMaxNum(x, number(x->getType(), low)), number(x->getType(), 1.0));
  Value* scaled = builder.CreateFMul(limited, number(x->getType(), steps));
  Value* rounded = builder.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, scaled);
  return builder.CreateTrunc(builder.CreateFPToSI(rounded, builder.getInt32Ty()), builder.getInt16Ty());
}

// A number as an unsigned byte, put in the place of one of a word's.
Value* put_byte(Builder& builder, llvm::CallInst& call) {
  llvm::Type* byte = builder.getInt8Ty();
  Value* x = call.getArgOperand(0);
  Value* converted = builder.CreateIntrinsic(llvm::Intrinsic::fptoui_sat, {byte, x->getType()}, {x});
  Value* shift = builder.CreateShl(builder.CreateAnd(call.getArgOperand(1), 3), 3);
  Value* hole = builder.CreateNot(builder.CreateShl(builder.getInt32(255), shift));
  return builder.CreateOr(builder.CreateAnd(call.getArgOperand(2), hole),
                          builder.CreateShl(builder.CreateZExt(converted, builder.getInt32Ty()), shift));
}

// c + a[0] * b[0] + a[1] * b[1], in single precision, where the products are exact.
Value* dot(Builder& builder, llvm::CallInst& call) {
  llvm::Type* wide = builder.getFloatTy();
  auto widened = [&](Value* x) { return x->getType() == wide ? x : builder.CreateFPExt(x, wide); };
  Value* sum = widened(call.getArgOperand(2));
  for (unsigned i = 0; i < 2; ++i) {
    Value* a = widened(builder.CreateExtractElement(call.getArgOperand(0), i));
    Value* b = widened(builder.CreateExtractElement(call.getArgOperand(1), i));
    sum = builder.CreateFAdd(sum, builder.CreateFMul(a, b));
  }
  if (call.arg_size() > 3 && llvm::cast<llvm::ConstantInt>(call.getArgOperand(3))->isOne()) {
    sum = builder.CreateMinNum(builder.CreateMaxNum(sum, number(wide, 0.0)), number(wide, 1.0));
  }
  return sum->getType() == call.getType() ? sum : builder.CreateFPTrunc(sum, call.getType());
}

// A product that is zero whenever a factor is, be the other infinite or no number.
Value* legacy_product(Builder& builder, llvm::CallInst& call) {
  Value *a = call.getArgOperand(0), *b = call.getArgOperand(1), *zero = number(call.getType(), 0.0);
  Value* none = builder.CreateOr(builder.CreateFCmpOEQ(a, zero), builder.CreateFCmpOEQ(b, zero));
  return builder.CreateSelect(none, zero, builder.CreateFMul(a, b));
}

}  // namespace

Raised raise_float_intrinsic(Builder& builder, llvm::CallInst& call) {
  auto operand = [&](unsigned i) { return call.getArgOperand(i); };
  llvm::Type* type = call.getType();
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::amdgcn_rcp:
      return builder.CreateFDiv(number(type, 1.0), operand(0));
    case llvm::Intrinsic::amdgcn_rsq:
      return reciprocal_root(builder, operand(0));
    case llvm::Intrinsic::amdgcn_rsq_clamp: {
      llvm::Constant* most = llvm::ConstantFP::get(type, llvm::APFloat::getLargest(type->getFltSemantics()));
      return builder.CreateMinNum(reciprocal_root(builder, operand(0)), most);
    }
    case llvm::Intrinsic::amdgcn_sqrt:
      return builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, operand(0));
    case llvm::Intrinsic::amdgcn_fract:
      return fraction(builder, operand(0));
    case llvm::Intrinsic::amdgcn_class: {
      auto* classes = llvm::dyn_cast<llvm::ConstantInt>(operand(1));
      if (!classes) return std::nullopt;
      return builder.createIsFPClass(operand(0), static_cast<unsigned>(classes->getZExtValue()));
    }
    case llvm::Intrinsic::amdgcn_fmed3:
      return median(builder, call);
    case llvm::Intrinsic::amdgcn_fmul_legacy:
      return legacy_product(builder, call);
    case llvm::Intrinsic::amdgcn_fma_legacy:
      return builder.CreateFAdd(legacy_product(builder, call), operand(2));
    case llvm::Intrinsic::amdgcn_fmad_ftz:
      return builder.CreateFAdd(builder.CreateFMul(operand(0), operand(1)), operand(2));
    case llvm::Intrinsic::amdgcn_fdot2:
    case llvm::Intrinsic::amdgcn_fdot2_f16_f16:
    case llvm::Intrinsic::amdgcn_fdot2_bf16_bf16:
    case llvm::Intrinsic::amdgcn_fdot2_f32_bf16:
      return dot(builder, call);

    case llvm::Intrinsic::amdgcn_cvt_pkrtz:
      return pair(builder, call, [&](Value* x) { return half_towards_zero(builder, x); });
    case llvm::Intrinsic::amdgcn_cvt_pknorm_i16:
      return pair(builder, call, [&](Value* x) { return normalised(builder, x, -1.0, INT16_MAX); });
    case llvm::Intrinsic::amdgcn_cvt_pknorm_u16:
      return pair(builder, call, [&](Value* x) { return normalised(builder, x, 0.0, UINT16_MAX); });
    case llvm::Intrinsic::amdgcn_cvt_pk_u8_f32:
      return put_byte(builder, call);

    // The steps of a division. The last gives the quotient as it should be; those before it have nothing to scale.
    case llvm::Intrinsic::amdgcn_div_scale: {
      Value* chosen = operand(llvm::cast<llvm::ConstantInt>(operand(2))->isOne() ? 0 : 1);
      Value* both = builder.CreateInsertValue(llvm::PoisonValue::get(type), chosen, 0);
      return builder.CreateInsertValue(both, builder.getFalse(), 1);
    }
    case llvm::Intrinsic::amdgcn_div_fmas:
      return builder.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {operand(0), operand(1), operand(2)});
    case llvm::Intrinsic::amdgcn_div_fixup:
      return builder.CreateFDiv(operand(2), operand(1));
    case llvm::Intrinsic::amdgcn_fdiv_fast:
      return builder.CreateFDiv(operand(0), operand(1));
    default:
      return std::nullopt;
  }
}

}  // namespace mneme::codegen::host
