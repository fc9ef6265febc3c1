// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions of the vector unit on two numbers at a time.
#include <llvm/IR/Intrinsics.h>

#include "codegen/host/dialect/amdgpu/gcn/gcn.h"

namespace mneme::codegen::host {
namespace {

using llvm::Instruction;
using llvm::Value;
using Builder = llvm::IRBuilderBase;
using In = GcnArguments;
using Type = llvm::Type;

constexpr GcnRow kRows[] = {
    {"v_pk_add_@", "f16 f32", "@x2: @x2 @x2", gcn_binary<Instruction::FAdd>},
    {"v_pk_mul_@", "f16 f32", "@x2: @x2 @x2", gcn_binary<Instruction::FMul>},
    {"v_pk_fma_@", "f16 f32", "@x2: @x2 @x2 @x2", gcn_intrinsic<llvm::Intrinsic::fma>},
    {"v_pk_fmac_f16", "", "+f16x2: f16x2 f16x2", gcn_intrinsic<llvm::Intrinsic::fma>},
    {"v_pk_min_f16", "", "f16x2: f16x2 f16x2", gcn_intrinsic<llvm::Intrinsic::minnum>},
    {"v_pk_max_f16", "", "f16x2: f16x2 f16x2", gcn_intrinsic<llvm::Intrinsic::maxnum>},
    {"v_pk_add_@", "u16 i16", "@x2: @x2 @x2", gcn_binary<Instruction::Add>},
    {"v_pk_sub_@", "u16 i16", "@x2: @x2 @x2", gcn_binary<Instruction::Sub>},
    {"v_pk_mul_lo_u16", "", "u16x2: u16x2 u16x2", gcn_binary<Instruction::Mul>},
    {"v_pk_mad_@", "u16 i16", "@x2: @x2 @x2 @x2",
     [](Builder& b, In in, Type*) { return b.CreateAdd(b.CreateMul(in[0], in[1]), in[2]); }},
    {"v_pk_lshlrev_b16", "", "b16x2: b16x2 b16x2", gcn_shift_reversed<Instruction::Shl>},
    {"v_pk_lshrrev_b16", "", "b16x2: b16x2 b16x2", gcn_shift_reversed<Instruction::LShr>},
    {"v_pk_ashrrev_i16", "", "i16x2: i16x2 i16x2", gcn_shift_reversed<Instruction::AShr>},
    {"v_pk_min_u16", "", "u16x2: u16x2 u16x2", gcn_intrinsic<llvm::Intrinsic::umin>},
    {"v_pk_max_u16", "", "u16x2: u16x2 u16x2", gcn_intrinsic<llvm::Intrinsic::umax>},
    {"v_pk_min_i16", "", "i16x2: i16x2 i16x2", gcn_intrinsic<llvm::Intrinsic::smin>},
    {"v_pk_max_i16", "", "i16x2: i16x2 i16x2", gcn_intrinsic<llvm::Intrinsic::smax>},
    // Of each operand the half that op_sel chooses.
    {"v_pk_mov_b32", "", "b32x2: b32x2 b32x2",
     [](Builder& b, In in, Type*) {
       return b.CreateInsertElement(in[0], b.CreateExtractElement(in[1], uint64_t{0}), uint64_t{1});
     }},
};

}  // namespace

llvm::ArrayRef<GcnRow> gcn_packed_rows() { return kRows; }

}  // namespace mneme::codegen::host
