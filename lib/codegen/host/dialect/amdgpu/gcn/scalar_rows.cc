// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions of the scalar unit. "c" is its condition code.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "codegen/host/dialect/amdgpu/gcn/gcn.h"

namespace mneme::codegen::host {
namespace {

using llvm::CmpInst;
using llvm::Instruction;
using llvm::Value;
using Builder = llvm::IRBuilderBase;
using In = GcnArguments;
using Type = llvm::Type;

// The code says whether the result is not zero.
Value* coded(Builder& b, Value* result) { return gcn_pair(b, result, b.CreateIsNotNull(result)); }

template <Instruction::BinaryOps kOperation, bool kInvertSecond = false, bool kInvertResult = false>
Value* logic(Builder& b, In in, Type*) {
  Value* result = b.CreateBinOp(kOperation, in[0], kInvertSecond ? b.CreateNot(in[1]) : in[1]);
  return coded(b, kInvertResult ? b.CreateNot(result) : result);
}
template <Instruction::BinaryOps kShift>
Value* shift(Builder& b, In in, Type* t) {
  return coded(b, gcn_shift<kShift>(b, in, t));
}
// The code says which operand it was.
template <CmpInst::Predicate kPredicate>
Value* choose(Builder& b, In in, Type*) {
  Value* first = b.CreateICmp(kPredicate, in[0], in[1]);
  return gcn_pair(b, b.CreateSelect(first, in[0], in[1]), first);
}
template <CmpInst::Predicate kPredicate>
Value* compare(Builder& b, In in, Type*) {
  return b.CreateICmp(kPredicate, in[0], in[1]);
}
// Offset and width are parts of one operand.
template <llvm::Intrinsic::ID kField>
Value* field(Builder& b, In in, Type* t) {
  Value* width = b.CreateAnd(b.CreateLShr(in[1], 16), 0x7f);
  Value* all = b.CreateICmpUGE(width, b.getInt32(32));
  Value* part = b.CreateIntrinsic(t, kField, {in[0], b.CreateAnd(in[1], 31), width});
  auto* moved = kField == llvm::Intrinsic::amdgcn_sbfe ? b.CreateAShr(in[0], b.CreateAnd(in[1], 31))
                                                       : b.CreateLShr(in[0], b.CreateAnd(in[1], 31));
  return coded(b, b.CreateSelect(all, moved, part));
}
template <bool kSigned>
Value* high_product(Builder& b, In in, Type* t) {
  Type* wide = b.getInt64Ty();
  auto extend = [&](Value* x) { return kSigned ? b.CreateSExt(x, wide) : b.CreateZExt(x, wide); };
  return b.CreateTrunc(b.CreateLShr(b.CreateMul(extend(in[0]), extend(in[1])), 32), t);
}
template <unsigned kFirst, unsigned kSecond>  // where each half begins
Value* pack(Builder& b, In in, Type*) {
  Value* low = b.CreateAnd(b.CreateLShr(in[0], kFirst), 0xffff);
  return b.CreateOr(low, b.CreateShl(b.CreateLShr(in[1], kSecond), 16));
}
template <unsigned kShift>
Value* shift_and_add(Builder& b, In in, Type*) {
  Value* lost = b.CreateLShr(in[0], 32 - kShift);
  Value* sum = gcn_add_with_carry(b, b.CreateShl(in[0], kShift), in[1], b.getFalse());
  Value* carry = b.CreateOr(b.CreateIsNotNull(lost), b.CreateExtractValue(sum, 1));
  return gcn_pair(b, b.CreateExtractValue(sum, 0), carry);
}
Value* add_carry(Builder& b, In in, Type*) {
  return gcn_add_with_carry(b, in[0], in[1], in.size() > 2 ? in[2] : b.getFalse());
}
Value* subtract_borrow(Builder& b, In in, Type*) {
  return gcn_subtract_with_borrow(b, in[0], in[1], in.size() > 2 ? in[2] : b.getFalse());
}
template <unsigned kBits>
Value* extend(Builder& b, In in, Type* t) {
  return b.CreateSExt(b.CreateTrunc(in[0], b.getIntNTy(kBits)), t);
}
// A bit of the last operand, which the first one names.
template <bool kSet>
Value* change_bit(Builder& b, In in, Type* t) {
  Value* bit = b.CreateShl(llvm::ConstantInt::get(t, 1), gcn_distance(b, in[0], t));
  return kSet ? b.CreateOr(in[1], bit) : b.CreateAnd(in[1], b.CreateNot(bit));
}
template <bool kSet>
Value* test_bit(Builder& b, In in, Type*) {
  Type* type = in[0]->getType();
  Value* bit = b.CreateTrunc(b.CreateLShr(in[0], gcn_distance(b, in[1], type)), b.getInt1Ty());
  return kSet ? bit : b.CreateNot(bit);
}
Value* mask_of_bits(Builder& b, In in, Type* t) {
  Value* one = llvm::ConstantInt::get(t, 1);
  Value* mask = b.CreateSub(b.CreateShl(one, gcn_distance(b, in[0], t)), one);
  return b.CreateShl(mask, gcn_distance(b, in[1], t));
}
Value* extend_short(Builder& b, Value* value, bool is_signed) {
  return b.CreateIntCast(b.CreateTrunc(value, b.getInt16Ty()), b.getInt32Ty(), is_signed);
}
template <CmpInst::Predicate kPredicate>
Value* compare_short(Builder& b, In in, Type*) {
  return b.CreateICmp(kPredicate, in[0], extend_short(b, in[1], !CmpInst::isUnsigned(kPredicate)));
}
template <bool kZeros>
Value* count(Builder& b, In in, Type* t) {
  Value* bits = kZeros ? b.CreateNot(in[0]) : in[0];
  return coded(b, b.CreateZExtOrTrunc(b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits), t));
}
Value* first_of(Builder&, In in, Type*) { return in[0]; }

constexpr GcnRow kRows[] = {
    {"s_mov_@", "b32 b64", "@: @", first_of},
    {"s_movk_i32", "", "b32: b32", extend<16>},
    {"s_add_u32", "", "u32 c: u32 u32", add_carry},
    {"s_addc_u32", "", "u32 c: u32 u32 c", add_carry},
    {"s_sub_u32", "", "u32 c: u32 u32", subtract_borrow},
    {"s_subb_u32", "", "u32 c: u32 u32 c", subtract_borrow},
    {"s_add_i32", "", "i32 c: i32 i32",
     [](Builder& b, In in, Type* t) -> Value* {
       return b.CreateIntrinsic(llvm::Intrinsic::sadd_with_overflow, {t}, in);
     }},
    {"s_sub_i32", "", "i32 c: i32 i32",
     [](Builder& b, In in, Type* t) -> Value* {
       return b.CreateIntrinsic(llvm::Intrinsic::ssub_with_overflow, {t}, in);
     }},
    {"s_mul_i32", "", "i32: i32 i32", gcn_binary<Instruction::Mul>},
    {"s_mul_hi_u32", "", "u32: u32 u32", high_product<false>},
    {"s_mul_hi_i32", "", "i32: i32 i32", high_product<true>},
    {"s_and_@", "b32 b64", "@ c: @ @", logic<Instruction::And>},
    {"s_or_@", "b32 b64", "@ c: @ @", logic<Instruction::Or>},
    {"s_xor_@", "b32 b64", "@ c: @ @", logic<Instruction::Xor>},
    {"s_nand_@", "b32 b64", "@ c: @ @", logic<Instruction::And, false, true>},
    {"s_nor_@", "b32 b64", "@ c: @ @", logic<Instruction::Or, false, true>},
    {"s_xnor_@", "b32 b64", "@ c: @ @", logic<Instruction::Xor, false, true>},
    {"s_andn2_@", "b32 b64", "@ c: @ @", logic<Instruction::And, true>},
    {"s_orn2_@", "b32 b64", "@ c: @ @", logic<Instruction::Or, true>},
    {"s_and_not1_@", "b32 b64", "@ c: @ @", logic<Instruction::And, true>},
    {"s_or_not1_@", "b32 b64", "@ c: @ @", logic<Instruction::Or, true>},
    {"s_not_@", "b32 b64", "@ c: @", [](Builder& b, In in, Type*) { return coded(b, b.CreateNot(in[0])); }},
    {"s_lshl_@", "b32 b64", "@ c: @ b32", shift<Instruction::Shl>},
    {"s_lshr_@", "b32 b64", "@ c: @ b32", shift<Instruction::LShr>},
    {"s_ashr_@", "i32 i64", "@ c: @ b32", shift<Instruction::AShr>},
    {"s_lshl1_add_u32", "", "u32 c: u32 u32", shift_and_add<1>},
    {"s_lshl2_add_u32", "", "u32 c: u32 u32", shift_and_add<2>},
    {"s_lshl3_add_u32", "", "u32 c: u32 u32", shift_and_add<3>},
    {"s_lshl4_add_u32", "", "u32 c: u32 u32", shift_and_add<4>},
    {"s_min_u32", "", "u32 c: u32 u32", choose<CmpInst::ICMP_ULT>},
    {"s_max_u32", "", "u32 c: u32 u32", choose<CmpInst::ICMP_UGE>},
    {"s_min_i32", "", "i32 c: i32 i32", choose<CmpInst::ICMP_SLT>},
    {"s_max_i32", "", "i32 c: i32 i32", choose<CmpInst::ICMP_SGE>},
    {"s_abs_i32", "", "i32 c: i32",
     [](Builder& b, In in, Type*) {
       return coded(b, b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, in[0], b.getFalse()));
     }},
    {"s_bfe_u32", "", "u32 c: u32 u32", field<llvm::Intrinsic::amdgcn_ubfe>},
    {"s_bfe_i32", "", "i32 c: i32 u32", field<llvm::Intrinsic::amdgcn_sbfe>},
    {"s_brev_@", "b32 b64", "@: @", gcn_intrinsic<llvm::Intrinsic::bitreverse>},
    {"s_absdiff_i32", "", "i32 c: i32 i32",
     [](Builder& b, In in, Type*) {
       return coded(b, b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, b.CreateSub(in[0], in[1]), b.getFalse()));
     }},
    {"s_addk_i32", "", "+i32 c: i32",
     [](Builder& b, In in, Type* t) -> Value* {
       Value* more = extend_short(b, in[0], true);
       return b.CreateIntrinsic(llvm::Intrinsic::sadd_with_overflow, {t}, {in[1], more});
     }},
    {"s_mulk_i32", "", "+i32: i32",
     [](Builder& b, In in, Type*) { return b.CreateMul(in[1], extend_short(b, in[0], true)); }},
    {"s_bcnt0_i32_@", "b32 b64", "i32 c: @", count<true>},
    {"s_bcnt1_i32_@", "b32 b64", "i32 c: @", count<false>},
    {"s_bitset0_@", "b32 b64", "+@: b32", change_bit<false>},
    {"s_bitset1_@", "b32 b64", "+@: b32", change_bit<true>},
    {"s_bitcmp0_@", "b32 b64", "c: @ b32", test_bit<false>},
    {"s_bitcmp1_@", "b32 b64", "c: @ b32", test_bit<true>},
    {"s_bfm_@", "b32 b64", "@: b32 b32", mask_of_bits},
    {"s_ff0_i32_@", "b32 b64", "i32: @",
     [](Builder& b, In in, Type*) { return gcn_count_zeros(b, b.CreateNot(in[0]), false); }},
    {"s_ff1_i32_@", "b32 b64", "i32: @", [](Builder& b, In in, Type*) { return gcn_count_zeros(b, in[0], false); }},
    {"s_ctz_i32_@", "b32 b64", "i32: @", [](Builder& b, In in, Type*) { return gcn_count_zeros(b, in[0], false); }},
    {"s_flbit_i32_@", "b32 b64", "i32: @", [](Builder& b, In in, Type*) { return gcn_count_zeros(b, in[0], true); }},
    {"s_clz_i32_u32", "", "i32: u32", [](Builder& b, In in, Type*) { return gcn_count_zeros(b, in[0], true); }},
    {"s_sext_i32_i8", "", "i32: b32", extend<8>},
    {"s_sext_i32_i16", "", "i32: b32", extend<16>},
    {"s_pack_ll_b32_b16", "", "b32: b32 b32", pack<0, 0>},
    {"s_pack_lh_b32_b16", "", "b32: b32 b32", pack<0, 16>},
    {"s_pack_hl_b32_b16", "", "b32: b32 b32", pack<16, 0>},
    {"s_pack_hh_b32_b16", "", "b32: b32 b32", pack<16, 16>},
    {"s_cselect_@", "b32 b64", "@: @ @ c",
     [](Builder& b, In in, Type*) { return b.CreateSelect(in[2], in[0], in[1]); }},
    {"s_cmov_@", "b32 b64", "+@: @ c", [](Builder& b, In in, Type*) { return b.CreateSelect(in[1], in[0], in[2]); }},
    {"s_cmovk_i32", "", "+i32: i32 c",
     [](Builder& b, In in, Type*) { return b.CreateSelect(in[1], extend_short(b, in[0], true), in[2]); }},
    {"s_cmpk_eq_i32", "", "c: i32 i32", compare_short<CmpInst::ICMP_EQ>},
    {"s_cmpk_lg_i32", "", "c: i32 i32", compare_short<CmpInst::ICMP_NE>},
    {"s_cmpk_gt_i32", "", "c: i32 i32", compare_short<CmpInst::ICMP_SGT>},
    {"s_cmpk_ge_i32", "", "c: i32 i32", compare_short<CmpInst::ICMP_SGE>},
    {"s_cmpk_lt_i32", "", "c: i32 i32", compare_short<CmpInst::ICMP_SLT>},
    {"s_cmpk_le_i32", "", "c: i32 i32", compare_short<CmpInst::ICMP_SLE>},
    {"s_cmpk_gt_u32", "", "c: u32 u32", compare_short<CmpInst::ICMP_UGT>},
    {"s_cmpk_ge_u32", "", "c: u32 u32", compare_short<CmpInst::ICMP_UGE>},
    {"s_cmpk_lt_u32", "", "c: u32 u32", compare_short<CmpInst::ICMP_ULT>},
    {"s_cmpk_le_u32", "", "c: u32 u32", compare_short<CmpInst::ICMP_ULE>},
    {"s_cmp_eq_@", "i32 u32 u64", "c: @ @", compare<CmpInst::ICMP_EQ>},
    {"s_cmp_lg_@", "i32 u32 u64", "c: @ @", compare<CmpInst::ICMP_NE>},
    {"s_cmp_gt_i32", "", "c: i32 i32", compare<CmpInst::ICMP_SGT>},
    {"s_cmp_ge_i32", "", "c: i32 i32", compare<CmpInst::ICMP_SGE>},
    {"s_cmp_lt_i32", "", "c: i32 i32", compare<CmpInst::ICMP_SLT>},
    {"s_cmp_le_i32", "", "c: i32 i32", compare<CmpInst::ICMP_SLE>},
    {"s_cmp_gt_u32", "", "c: u32 u32", compare<CmpInst::ICMP_UGT>},
    {"s_cmp_ge_u32", "", "c: u32 u32", compare<CmpInst::ICMP_UGE>},
    {"s_cmp_lt_u32", "", "c: u32 u32", compare<CmpInst::ICMP_ULT>},
    {"s_cmp_le_u32", "", "c: u32 u32", compare<CmpInst::ICMP_ULE>},
};

}  // namespace

llvm::ArrayRef<GcnRow> gcn_scalar_rows() { return kRows; }

}  // namespace mneme::codegen::host
