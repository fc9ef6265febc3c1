// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions of the vector unit on integers and bits, and those that move.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "codegen/host/dialect/amdgpu/gcn/gcn.h"

namespace mneme::codegen::host {
namespace {

using llvm::Instruction;
using llvm::Value;
using Builder = llvm::IRBuilderBase;
using In = GcnArguments;
using Type = llvm::Type;

// The upper half of a product, or all of it, of operands of half the type.
Value* wide_product(Builder& b, Value* x, Value* y, bool is_signed) {
  Type* wide = b.getIntNTy(2 * x->getType()->getIntegerBitWidth());
  return b.CreateMul(is_signed ? b.CreateSExt(x, wide) : b.CreateZExt(x, wide),
                     is_signed ? b.CreateSExt(y, wide) : b.CreateZExt(y, wide));
}
template <bool kSigned>
Value* high_product(Builder& b, In in, Type* t) {
  return b.CreateTrunc(b.CreateLShr(wide_product(b, in[0], in[1], kSigned), t->getIntegerBitWidth()), t);
}
// With the carry of the 64-bit sum.
template <bool kSigned>
Value* wide_multiply_add(Builder& b, In in, Type* t) {
  auto id = kSigned ? llvm::Intrinsic::sadd_with_overflow : llvm::Intrinsic::uadd_with_overflow;
  return b.CreateIntrinsic(id, {t}, {wide_product(b, in[0], in[1], kSigned), in[2]});
}
template <bool kSigned>
Value* half_multiply_add(Builder& b, In in, Type*) {
  return b.CreateAdd(wide_product(b, in[0], in[1], kSigned), in[2]);
}
template <llvm::Intrinsic::ID kProduct>
Value* multiply_add_24(Builder& b, In in, Type* t) {
  return b.CreateAdd(b.CreateIntrinsic(t, kProduct, {in[0], in[1]}), in[2]);
}

Value* add_carry(Builder& b, In in, Type*) {
  return gcn_add_with_carry(b, in[0], in[1], in.size() > 2 ? in[2] : b.getFalse());
}
Value* subtract_borrow(Builder& b, In in, Type*) {
  return gcn_subtract_with_borrow(b, in[0], in[1], in.size() > 2 ? in[2] : b.getFalse());
}
Value* subtract_borrow_reversed(Builder& b, In in, Type*) {
  return gcn_subtract_with_borrow(b, in[1], in[0], in.size() > 2 ? in[2] : b.getFalse());
}

template <llvm::Intrinsic::ID kLeast, llvm::Intrinsic::ID kGreatest>
Value* median(Builder& b, In in, Type*) {
  Value *low = b.CreateBinaryIntrinsic(kLeast, in[0], in[1]), *high = b.CreateBinaryIntrinsic(kGreatest, in[0], in[1]);
  return b.CreateBinaryIntrinsic(kGreatest, low, b.CreateBinaryIntrinsic(kLeast, high, in[2]));
}

template <llvm::Intrinsic::ID kIntrinsic>
Value* dot(Builder& b, In in, Type* t) {
  return b.CreateIntrinsic(t, kIntrinsic, {in[0], in[1], in[2], b.getFalse()});
}
Value* first_of(Builder&, In in, Type*) { return in[0]; }
Value* exclusive_nor(Builder& b, In in, Type*) { return b.CreateNot(b.CreateXor(in[0], in[1])); }
Value* count_and_add(Builder& b, In in, Type*) {
  return b.CreateAdd(b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, in[0]), in[1]);
}

constexpr GcnRow kRows[] = {
    {"v_mov_@", "b16 b32 b64", "@: @", first_of},
    {"v_accvgpr_read_b32", "", "b32: b32", first_of},
    {"v_accvgpr_write_b32", "", "b32: b32", first_of},
    {"v_accvgpr_mov_b32", "", "b32: b32", first_of},
    {"v_cndmask_@", "b16 b32", "@: @ @ p",
     [](Builder& b, In in, Type*) { return b.CreateSelect(in[2], in[1], in[0]); }},
    {"v_readfirstlane_b32", "", "b32: b32", gcn_intrinsic<llvm::Intrinsic::amdgcn_readfirstlane>},
    {"v_readlane_b32", "", "b32: b32 b32", gcn_intrinsic<llvm::Intrinsic::amdgcn_readlane>},
    {"v_writelane_b32", "", "+b32: b32 b32", gcn_intrinsic<llvm::Intrinsic::amdgcn_writelane>},
    {"v_mbcnt_lo_u32_b32", "", "b32: b32 b32", gcn_intrinsic<llvm::Intrinsic::amdgcn_mbcnt_lo>},
    {"v_mbcnt_hi_u32_b32", "", "b32: b32 b32", gcn_intrinsic<llvm::Intrinsic::amdgcn_mbcnt_hi>},

    {"v_add_@", "u16 u32 i16 i32", "@: @ @", gcn_binary<Instruction::Add>},
    {"v_sub_@", "u16 u32 i16 i32", "@: @ @", gcn_binary<Instruction::Sub>},
    {"v_subrev_@", "u16 u32", "@: @ @", gcn_reversed<Instruction::Sub>},
    {"v_add_nc_@", "u16 u32 i16 i32", "@: @ @", gcn_binary<Instruction::Add>},
    {"v_sub_nc_@", "u16 u32 i16 i32", "@: @ @", gcn_binary<Instruction::Sub>},
    {"v_subrev_nc_u32", "", "u32: u32 u32", gcn_reversed<Instruction::Sub>},
    {"v_add_u32", "", "u32 p: u32 u32", add_carry},  // as the eighth generation has it
    {"v_sub_u32", "", "u32 p: u32 u32", subtract_borrow},
    {"v_subrev_u32", "", "u32 p: u32 u32", subtract_borrow_reversed},
    {"v_add_co_u32", "", "u32 p: u32 u32", add_carry},
    {"v_sub_co_u32", "", "u32 p: u32 u32", subtract_borrow},
    {"v_subrev_co_u32", "", "u32 p: u32 u32", subtract_borrow_reversed},
    {"v_addc_u32", "", "u32 p: u32 u32 p", add_carry},
    {"v_addc_co_u32", "", "u32 p: u32 u32 p", add_carry},
    {"v_add_co_ci_u32", "", "u32 p: u32 u32 p", add_carry},
    {"v_subb_u32", "", "u32 p: u32 u32 p", subtract_borrow},
    {"v_subb_co_u32", "", "u32 p: u32 u32 p", subtract_borrow},
    {"v_sub_co_ci_u32", "", "u32 p: u32 u32 p", subtract_borrow},
    {"v_subbrev_u32", "", "u32 p: u32 u32 p", subtract_borrow_reversed},
    {"v_subbrev_co_u32", "", "u32 p: u32 u32 p", subtract_borrow_reversed},
    {"v_subrev_co_ci_u32", "", "u32 p: u32 u32 p", subtract_borrow_reversed},

    {"v_mul_lo_@", "u16 u32 i32", "@: @ @", gcn_binary<Instruction::Mul>},
    {"v_mul_hi_u32", "", "u32: u32 u32", high_product<false>},
    {"v_mul_hi_i32", "", "i32: i32 i32", high_product<true>},
    {"v_mul_u32_u24", "", "u32: u32 u32", gcn_intrinsic<llvm::Intrinsic::amdgcn_mul_u24>},
    {"v_mul_i32_i24", "", "i32: i32 i32", gcn_intrinsic<llvm::Intrinsic::amdgcn_mul_i24>},
    {"v_mul_hi_u32_u24", "", "u32: u32 u32", gcn_intrinsic<llvm::Intrinsic::amdgcn_mulhi_u24>},
    {"v_mul_hi_i32_i24", "", "i32: i32 i32", gcn_intrinsic<llvm::Intrinsic::amdgcn_mulhi_i24>},
    {"v_mad_u32_u24", "", "u32: u32 u32 u32", multiply_add_24<llvm::Intrinsic::amdgcn_mul_u24>},
    {"v_mad_i32_i24", "", "i32: i32 i32 i32", multiply_add_24<llvm::Intrinsic::amdgcn_mul_i24>},
    {"v_mad_@", "u16 i16", "@: @ @ @",
     [](Builder& b, In in, Type*) { return b.CreateAdd(b.CreateMul(in[0], in[1]), in[2]); }},
    {"v_mad_u32_u16", "", "u32: u16 u16 u32", half_multiply_add<false>},
    {"v_mad_i32_i16", "", "i32: i16 i16 i32", half_multiply_add<true>},
    {"v_mad_u64_u32", "", "u64 p: u32 u32 u64", wide_multiply_add<false>},
    {"v_mad_i64_i32", "", "i64 p: i32 i32 i64", wide_multiply_add<true>},

    {"v_and_@", "b16 b32", "@: @ @", gcn_binary<Instruction::And>},
    {"v_or_@", "b16 b32", "@: @ @", gcn_binary<Instruction::Or>},
    {"v_xor_@", "b16 b32", "@: @ @", gcn_binary<Instruction::Xor>},
    {"v_xnor_b32", "", "b32: b32 b32", exclusive_nor},
    {"v_not_@", "b16 b32", "@: @", [](Builder& b, In in, Type*) { return b.CreateNot(in[0]); }},
    {"v_add3_u32", "", "u32: u32 u32 u32",
     [](Builder& b, In in, Type*) { return b.CreateAdd(b.CreateAdd(in[0], in[1]), in[2]); }},
    {"v_or3_b32", "", "b32: b32 b32 b32",
     [](Builder& b, In in, Type*) { return b.CreateOr(b.CreateOr(in[0], in[1]), in[2]); }},
    {"v_xor3_b32", "", "b32: b32 b32 b32",
     [](Builder& b, In in, Type*) { return b.CreateXor(b.CreateXor(in[0], in[1]), in[2]); }},
    {"v_xad_u32", "", "u32: u32 u32 u32",
     [](Builder& b, In in, Type*) { return b.CreateAdd(b.CreateXor(in[0], in[1]), in[2]); }},
    {"v_and_or_b32", "", "b32: b32 b32 b32",
     [](Builder& b, In in, Type*) { return b.CreateOr(b.CreateAnd(in[0], in[1]), in[2]); }},
    {"v_lshl_or_b32", "", "b32: b32 b32 b32",
     [](Builder& b, In in, Type* t) { return b.CreateOr(gcn_shift<Instruction::Shl>(b, in, t), in[2]); }},
    {"v_lshl_add_u32", "", "u32: u32 u32 u32",
     [](Builder& b, In in, Type* t) { return b.CreateAdd(gcn_shift<Instruction::Shl>(b, in, t), in[2]); }},
    {"v_add_lshl_u32", "", "u32: u32 u32 u32",
     [](Builder& b, In in, Type* t) { return b.CreateShl(b.CreateAdd(in[0], in[1]), gcn_distance(b, in[2], t)); }},
    {"v_lshlrev_@", "b16 b32", "@: @ @", gcn_shift_reversed<Instruction::Shl>},
    {"v_lshrrev_@", "b16 b32", "@: @ @", gcn_shift_reversed<Instruction::LShr>},
    {"v_ashrrev_@", "i16 i32", "@: @ @", gcn_shift_reversed<Instruction::AShr>},
    {"v_lshlrev_b64", "", "b64: b32 b64", gcn_shift_reversed<Instruction::Shl>},
    {"v_lshrrev_b64", "", "b64: b32 b64", gcn_shift_reversed<Instruction::LShr>},
    {"v_ashrrev_i64", "", "i64: b32 i64", gcn_shift_reversed<Instruction::AShr>},
    {"v_lshl_@", "b32 b64", "@: @ b32", gcn_shift<Instruction::Shl>},
    {"v_lshr_@", "b32 b64", "@: @ b32", gcn_shift<Instruction::LShr>},
    {"v_ashr_@", "i32 i64", "@: @ b32", gcn_shift<Instruction::AShr>},

    {"v_min_@", "u16 u32", "@: @ @", gcn_intrinsic<llvm::Intrinsic::umin>},
    {"v_max_@", "u16 u32", "@: @ @", gcn_intrinsic<llvm::Intrinsic::umax>},
    {"v_min_@", "i16 i32", "@: @ @", gcn_intrinsic<llvm::Intrinsic::smin>},
    {"v_max_@", "i16 i32", "@: @ @", gcn_intrinsic<llvm::Intrinsic::smax>},
    {"v_min3_@", "u16 u32", "@: @ @ @", gcn_three<llvm::Intrinsic::umin>},
    {"v_max3_@", "u16 u32", "@: @ @ @", gcn_three<llvm::Intrinsic::umax>},
    {"v_min3_@", "i16 i32", "@: @ @ @", gcn_three<llvm::Intrinsic::smin>},
    {"v_max3_@", "i16 i32", "@: @ @ @", gcn_three<llvm::Intrinsic::smax>},
    {"v_med3_@", "u16 u32", "@: @ @ @", median<llvm::Intrinsic::umin, llvm::Intrinsic::umax>},
    {"v_med3_@", "i16 i32", "@: @ @ @", median<llvm::Intrinsic::smin, llvm::Intrinsic::smax>},

    {"v_bfe_u32", "", "u32: u32 u32 u32", gcn_intrinsic<llvm::Intrinsic::amdgcn_ubfe>},
    {"v_bfe_i32", "", "i32: i32 u32 u32", gcn_intrinsic<llvm::Intrinsic::amdgcn_sbfe>},
    {"v_bfi_b32", "", "b32: b32 b32 b32",
     [](Builder& b, In in, Type*) {
       return b.CreateOr(b.CreateAnd(in[0], in[1]), b.CreateAnd(b.CreateNot(in[0]), in[2]));
     }},
    {"v_bfm_b32", "", "b32: b32 b32",
     [](Builder& b, In in, Type* t) {
       Value* ones = b.CreateNot(b.CreateShl(b.getInt32(~0u), gcn_distance(b, in[0], t)));
       return b.CreateShl(ones, gcn_distance(b, in[1], t));
     }},
    {"v_alignbit_b32", "", "b32: b32 b32 b32", gcn_intrinsic<llvm::Intrinsic::fshr>},
    {"v_alignbyte_b32", "", "b32: b32 b32 b32", gcn_intrinsic<llvm::Intrinsic::amdgcn_alignbyte>},
    {"v_perm_b32", "", "b32: b32 b32 b32", gcn_intrinsic<llvm::Intrinsic::amdgcn_perm>},
    {"v_bfrev_b32", "", "b32: b32", gcn_intrinsic<llvm::Intrinsic::bitreverse>},
    {"v_ffbh_u32", "", "b32: b32", [](Builder& b, In in, Type*) { return gcn_count_zeros(b, in[0], true); }},
    {"v_clz_i32_u32", "", "b32: b32", [](Builder& b, In in, Type*) { return gcn_count_zeros(b, in[0], true); }},
    {"v_ffbl_b32", "", "b32: b32", [](Builder& b, In in, Type*) { return gcn_count_zeros(b, in[0], false); }},
    {"v_ctz_i32_b32", "", "b32: b32", [](Builder& b, In in, Type*) { return gcn_count_zeros(b, in[0], false); }},
    {"v_ffbh_i32", "", "b32: b32", gcn_intrinsic<llvm::Intrinsic::amdgcn_sffbh>},
    {"v_cls_i32", "", "b32: b32", gcn_intrinsic<llvm::Intrinsic::amdgcn_sffbh>},
    {"v_bcnt_u32_b32", "", "b32: b32 b32", count_and_add},
    {"v_pack_b32_f16", "", "b32: b16 b16",
     [](Builder& b, In in, Type* t) {
       return b.CreateOr(b.CreateZExt(in[0], t), b.CreateShl(b.CreateZExt(in[1], t), 16));
     }},

    {"v_sad_u8", "", "b32: b32 b32 b32", gcn_intrinsic<llvm::Intrinsic::amdgcn_sad_u8>},
    {"v_sad_hi_u8", "", "b32: b32 b32 b32", gcn_intrinsic<llvm::Intrinsic::amdgcn_sad_hi_u8>},
    {"v_sad_u16", "", "b32: b32 b32 b32", gcn_intrinsic<llvm::Intrinsic::amdgcn_sad_u16>},
    {"v_msad_u8", "", "b32: b32 b32 b32", gcn_intrinsic<llvm::Intrinsic::amdgcn_msad_u8>},
    {"v_sad_u32", "", "u32: u32 u32 u32",
     [](Builder& b, In in, Type*) {
       Value* above = b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, in[0], in[1]);
       return b.CreateAdd(b.CreateSub(above, b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, in[0], in[1])), in[2]);
     }},
    {"v_lerp_u8", "", "b32: b32 b32 b32", gcn_intrinsic<llvm::Intrinsic::amdgcn_lerp>},
    {"v_dot2_i32_i16", "", "b32: b16x2 b16x2 b32", dot<llvm::Intrinsic::amdgcn_sdot2>},
    {"v_dot2_u32_u16", "", "b32: b16x2 b16x2 b32", dot<llvm::Intrinsic::amdgcn_udot2>},
    {"v_dot4_i32_i8", "", "b32: b32 b32 b32", dot<llvm::Intrinsic::amdgcn_sdot4>},
    {"v_dot4_u32_u8", "", "b32: b32 b32 b32", dot<llvm::Intrinsic::amdgcn_udot4>},
    {"v_dot8_i32_i4", "", "b32: b32 b32 b32", dot<llvm::Intrinsic::amdgcn_sdot8>},
    {"v_dot8_u32_u4", "", "b32: b32 b32 b32", dot<llvm::Intrinsic::amdgcn_udot8>},
    {"v_dot4c_i32_i8", "", "+b32: b32 b32", dot<llvm::Intrinsic::amdgcn_sdot4>},
    {"v_dot8c_i32_i4", "", "+b32: b32 b32", dot<llvm::Intrinsic::amdgcn_sdot8>},
};

}  // namespace

Value* gcn_distance(Builder& builder, Value* distance, Type* type) {
  distance = builder.CreateZExtOrTrunc(distance, type);
  return builder.CreateAnd(distance, llvm::ConstantInt::get(type, type->getScalarSizeInBits() - 1));
}

Value* gcn_add_with_carry(Builder& builder, Value* a, Value* b, Value* carry) {
  Type* type = a->getType();
  Value* sum = builder.CreateAdd(a, b);
  Value* all = builder.CreateAdd(sum, builder.CreateZExt(carry, type));
  return gcn_pair(builder, all, builder.CreateOr(builder.CreateICmpULT(sum, a), builder.CreateICmpULT(all, sum)));
}

Value* gcn_subtract_with_borrow(Builder& builder, Value* a, Value* b, Value* borrow) {
  Type* type = a->getType();
  Value* difference = builder.CreateSub(a, b);
  Value* all = builder.CreateSub(difference, builder.CreateZExt(borrow, type));
  Value* wraps = builder.CreateOr(builder.CreateICmpULT(a, b), builder.CreateICmpULT(difference, all));
  return gcn_pair(builder, all, wraps);
}

Value* gcn_count_zeros(Builder& builder, Value* value, bool from_above) {
  auto id = from_above ? llvm::Intrinsic::ctlz : llvm::Intrinsic::cttz;
  Value* count =
      builder.CreateZExtOrTrunc(builder.CreateBinaryIntrinsic(id, value, builder.getFalse()), builder.getInt32Ty());
  return builder.CreateSelect(builder.CreateIsNull(value), builder.getInt32(~0u), count);
}

llvm::ArrayRef<GcnRow> gcn_integer_rows() { return kRows; }

}  // namespace mneme::codegen::host
