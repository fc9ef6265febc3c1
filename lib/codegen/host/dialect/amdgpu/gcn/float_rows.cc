// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions of the vector unit on floating-point numbers, and conversions.
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "codegen/host/dialect/amdgpu/gcn/gcn.h"
#include "codegen/host/semantics/flush_denormals.h"

namespace mneme::codegen::host {
namespace {

using llvm::Instruction;
using llvm::Value;
using llvm::Intrinsic::ID;
using Builder = llvm::IRBuilderBase;
using In = GcnArguments;
using Type = llvm::Type;

// Two roundings; in single precision, denormal numbers are zero.
Value* multiply_add(Builder& builder, In in, Type* type) {
  if (!type->isFloatTy()) return builder.CreateFAdd(builder.CreateFMul(in[0], in[1]), in[2]);
  Value* product = flush(builder, builder.CreateFMul(flush(builder, in[0]), flush(builder, in[1])));
  return flush(builder, builder.CreateFAdd(product, flush(builder, in[2])));
}

Value* rounded_down(Builder& builder, Value* x) { return builder.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x); }

Value* to_integer(Builder& builder, Value* x, Type* type, bool is_signed) {
  ID id = is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  return builder.CreateIntrinsic(id, {type, x->getType()}, {x});
}

Value* clamp_dot(Builder& builder, ID id, In in) {
  return builder.CreateIntrinsic(in[2]->getType(), id, {in[0], in[1], in[2], builder.getFalse()});
}

template <unsigned kByte>
Value* byte_to_float(Builder& builder, In in, Type* type) {
  return builder.CreateUIToFP(builder.CreateAnd(builder.CreateLShr(in[0], kByte * 8), 255), type);
}

constexpr GcnRow kRows[] = {
    {"v_add_@", "f16 f32 f64", "@: @ @", gcn_binary<Instruction::FAdd>},
    {"v_sub_@", "f16 f32", "@: @ @", gcn_binary<Instruction::FSub>},
    {"v_subrev_@", "f16 f32", "@: @ @", gcn_reversed<Instruction::FSub>},
    {"v_mul_@", "f16 f32 f64", "@: @ @", gcn_binary<Instruction::FMul>},
    {"v_min_@", "f16 f32 f64", "@: @ @", gcn_intrinsic<llvm::Intrinsic::minnum>},
    {"v_max_@", "f16 f32 f64", "@: @ @", gcn_intrinsic<llvm::Intrinsic::maxnum>},
    {"v_min_num_@", "f16 f32 f64", "@: @ @", gcn_intrinsic<llvm::Intrinsic::minnum>},
    {"v_max_num_@", "f16 f32 f64", "@: @ @", gcn_intrinsic<llvm::Intrinsic::maxnum>},
    {"v_min3_@", "f16 f32", "@: @ @ @", gcn_three<llvm::Intrinsic::minnum>},
    {"v_max3_@", "f16 f32", "@: @ @ @", gcn_three<llvm::Intrinsic::maxnum>},
    {"v_med3_@", "f16 f32", "@: @ @ @", gcn_intrinsic<llvm::Intrinsic::amdgcn_fmed3>},
    {"v_fma_@", "f16 f32 f64", "@: @ @ @", gcn_intrinsic<llvm::Intrinsic::fma>},
    {"v_fmac_@", "f16 f32 f64", "+@: @ @", gcn_intrinsic<llvm::Intrinsic::fma>},
    {"v_fmaak_@", "f16 f32", "@: @ @ @", gcn_intrinsic<llvm::Intrinsic::fma>},
    {"v_fmamk_@", "f16 f32", "@: @ @ @", gcn_intrinsic<llvm::Intrinsic::fma>},
    {"v_mad_@", "f16 f32", "@: @ @ @", multiply_add},
    {"v_mac_@", "f16 f32", "+@: @ @", multiply_add},
    {"v_madak_@", "f16 f32", "@: @ @ @", multiply_add},
    {"v_madmk_@", "f16 f32", "@: @ @ @", multiply_add},
    {"v_mul_legacy_f32", "", "f32: f32 f32", gcn_intrinsic<llvm::Intrinsic::amdgcn_fmul_legacy>},
    {"v_mul_dx9_zero_f32", "", "f32: f32 f32", gcn_intrinsic<llvm::Intrinsic::amdgcn_fmul_legacy>},
    {"v_rcp_@", "f16 f32 f64", "@: @", gcn_intrinsic<llvm::Intrinsic::amdgcn_rcp>},
    {"v_rcp_iflag_f32", "", "f32: f32", gcn_intrinsic<llvm::Intrinsic::amdgcn_rcp>},
    {"v_rsq_@", "f16 f32 f64", "@: @", gcn_intrinsic<llvm::Intrinsic::amdgcn_rsq>},
    {"v_sqrt_@", "f16 f32 f64", "@: @", gcn_intrinsic<llvm::Intrinsic::sqrt>},
    {"v_exp_f32", "", "f32: f32", gcn_intrinsic<llvm::Intrinsic::amdgcn_exp2>},
    {"v_log_f32", "", "f32: f32", gcn_intrinsic<llvm::Intrinsic::amdgcn_log>},
    {"v_exp_f16", "", "f16: f16", gcn_intrinsic<llvm::Intrinsic::exp2>},
    {"v_log_f16", "", "f16: f16", gcn_intrinsic<llvm::Intrinsic::log2>},
    {"v_sin_@", "f16 f32", "@: @", gcn_intrinsic<llvm::Intrinsic::amdgcn_sin>},
    {"v_cos_@", "f16 f32", "@: @", gcn_intrinsic<llvm::Intrinsic::amdgcn_cos>},
    {"v_floor_@", "f16 f32 f64", "@: @", gcn_intrinsic<llvm::Intrinsic::floor>},
    {"v_ceil_@", "f16 f32 f64", "@: @", gcn_intrinsic<llvm::Intrinsic::ceil>},
    {"v_trunc_@", "f16 f32 f64", "@: @", gcn_intrinsic<llvm::Intrinsic::trunc>},
    {"v_rndne_@", "f16 f32 f64", "@: @", gcn_intrinsic<llvm::Intrinsic::roundeven>},
    {"v_fract_@", "f16 f32 f64", "@: @", gcn_intrinsic<llvm::Intrinsic::amdgcn_fract>},
    {"v_ldexp_@", "f32 f64", "@: @ b32",
     [](Builder& b, In in, Type* t) -> Value* {
       return b.CreateIntrinsic(llvm::Intrinsic::ldexp, {t, b.getInt32Ty()}, in);
     }},
    {"v_ldexp_f16", "", "f16: f16 b16",
     [](Builder& b, In in, Type* t) -> Value* {
       return b.CreateIntrinsic(llvm::Intrinsic::ldexp, {t, b.getInt32Ty()},
                                {in[0], b.CreateSExt(in[1], b.getInt32Ty())});
     }},
    {"v_frexp_mant_@", "f16 f32 f64", "@: @", gcn_intrinsic<llvm::Intrinsic::amdgcn_frexp_mant>},
    {"v_frexp_exp_i32_@", "f32 f64", "b32: @", gcn_intrinsic<llvm::Intrinsic::amdgcn_frexp_exp>},
    {"v_frexp_exp_i16_f16", "", "b16: f16", gcn_intrinsic<llvm::Intrinsic::amdgcn_frexp_exp>},
    {"v_dot2_f32_f16", "", "f32: f16x2 f16x2 f32",
     [](Builder& b, In in, Type*) -> Value* { return clamp_dot(b, llvm::Intrinsic::amdgcn_fdot2, in); }},
    {"v_dot2c_f32_f16", "", "+f32: f16x2 f16x2",
     [](Builder& b, In in, Type*) -> Value* { return clamp_dot(b, llvm::Intrinsic::amdgcn_fdot2, in); }},
    {"v_dot2acc_f32_f16", "", "+f32: f16x2 f16x2",
     [](Builder& b, In in, Type*) -> Value* { return clamp_dot(b, llvm::Intrinsic::amdgcn_fdot2, in); }},
    {"v_dot2_f32_bf16", "", "f32: bf16x2 bf16x2 f32",
     [](Builder& b, In in, Type*) -> Value* { return clamp_dot(b, llvm::Intrinsic::amdgcn_fdot2_f32_bf16, in); }},
    {"v_dot2c_f32_bf16", "", "+f32: bf16x2 bf16x2",
     [](Builder& b, In in, Type*) -> Value* { return clamp_dot(b, llvm::Intrinsic::amdgcn_fdot2_f32_bf16, in); }},
};

constexpr GcnRow kConversions[] = {
    {"v_cvt_f16_f32", "", "f16: f32", [](Builder& b, In in, Type* t) { return b.CreateFPTrunc(in[0], t); }},
    {"v_cvt_f32_f64", "", "f32: f64", [](Builder& b, In in, Type* t) { return b.CreateFPTrunc(in[0], t); }},
    {"v_cvt_f32_f16", "", "f32: f16", [](Builder& b, In in, Type* t) { return b.CreateFPExt(in[0], t); }},
    {"v_cvt_f64_f32", "", "f64: f32", [](Builder& b, In in, Type* t) { return b.CreateFPExt(in[0], t); }},
    {"v_cvt_@_i32", "f32 f64", "@: i32", [](Builder& b, In in, Type* t) { return b.CreateSIToFP(in[0], t); }},
    {"v_cvt_@_u32", "f32 f64", "@: u32", [](Builder& b, In in, Type* t) { return b.CreateUIToFP(in[0], t); }},
    {"v_cvt_f16_i16", "", "f16: i16", [](Builder& b, In in, Type* t) { return b.CreateSIToFP(in[0], t); }},
    {"v_cvt_f16_u16", "", "f16: u16", [](Builder& b, In in, Type* t) { return b.CreateUIToFP(in[0], t); }},
    {"v_cvt_i32_@", "f32 f64", "i32: @", [](Builder& b, In in, Type* t) { return to_integer(b, in[0], t, true); }},
    {"v_cvt_u32_@", "f32 f64", "u32: @", [](Builder& b, In in, Type* t) { return to_integer(b, in[0], t, false); }},
    {"v_cvt_i16_f16", "", "i16: f16", [](Builder& b, In in, Type* t) { return to_integer(b, in[0], t, true); }},
    {"v_cvt_u16_f16", "", "u16: f16", [](Builder& b, In in, Type* t) { return to_integer(b, in[0], t, false); }},
    {"v_cvt_flr_i32_f32", "", "i32: f32",
     [](Builder& b, In in, Type* t) { return to_integer(b, rounded_down(b, in[0]), t, true); }},
    {"v_cvt_floor_i32_f32", "", "i32: f32",
     [](Builder& b, In in, Type* t) { return to_integer(b, rounded_down(b, in[0]), t, true); }},
    {"v_cvt_f32_ubyte0", "", "f32: b32", byte_to_float<0>},
    {"v_cvt_f32_ubyte1", "", "f32: b32", byte_to_float<1>},
    {"v_cvt_f32_ubyte2", "", "f32: b32", byte_to_float<2>},
    {"v_cvt_f32_ubyte3", "", "f32: b32", byte_to_float<3>},
    {"v_cvt_pkrtz_f16_f32", "", "f16x2: f32 f32", gcn_intrinsic<llvm::Intrinsic::amdgcn_cvt_pkrtz>},
    {"v_cvt_pk_rtz_f16_f32", "", "f16x2: f32 f32", gcn_intrinsic<llvm::Intrinsic::amdgcn_cvt_pkrtz>},
    {"v_cvt_pk_f16_f32", "", "f16x2: f32 f32",
     [](Builder& b, In in, Type* t) -> Value* {
       Value* low =
           b.CreateInsertElement(llvm::PoisonValue::get(t), b.CreateFPTrunc(in[0], b.getHalfTy()), uint64_t{0});
       return b.CreateInsertElement(low, b.CreateFPTrunc(in[1], b.getHalfTy()), uint64_t{1});
     }},
    {"v_cvt_pk_bf16_f32", "", "bf16x2: f32 f32",
     [](Builder& b, In in, Type* t) -> Value* {
       Value* low =
           b.CreateInsertElement(llvm::PoisonValue::get(t), b.CreateFPTrunc(in[0], b.getBFloatTy()), uint64_t{0});
       return b.CreateInsertElement(low, b.CreateFPTrunc(in[1], b.getBFloatTy()), uint64_t{1});
     }},
    {"v_cvt_pk_i16_i32", "", "i16x2: i32 i32", gcn_intrinsic<llvm::Intrinsic::amdgcn_cvt_pk_i16>},
    {"v_cvt_pk_u16_u32", "", "u16x2: u32 u32", gcn_intrinsic<llvm::Intrinsic::amdgcn_cvt_pk_u16>},
    {"v_cvt_pknorm_i16_f32", "", "i16x2: f32 f32", gcn_intrinsic<llvm::Intrinsic::amdgcn_cvt_pknorm_i16>},
    {"v_cvt_pknorm_u16_f32", "", "u16x2: f32 f32", gcn_intrinsic<llvm::Intrinsic::amdgcn_cvt_pknorm_u16>},
    {"v_cvt_pk_u8_f32", "", "b32: f32 b32 b32", gcn_intrinsic<llvm::Intrinsic::amdgcn_cvt_pk_u8_f32>},
};

}  // namespace

llvm::ArrayRef<GcnRow> gcn_float_rows() { return kRows; }
llvm::ArrayRef<GcnRow> gcn_conversion_rows() { return kConversions; }

}  // namespace mneme::codegen::host
