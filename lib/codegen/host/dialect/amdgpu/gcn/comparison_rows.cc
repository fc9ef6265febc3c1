// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Comparisons of the vector unit, a bit a lane.
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "codegen/host/dialect/amdgpu/gcn/gcn.h"

namespace mneme::codegen::host {
namespace {

using llvm::CmpInst;
using llvm::Value;

template <CmpInst::Predicate kPredicate>
Value* compare(llvm::IRBuilderBase& builder, GcnArguments in, llvm::Type*) {
  return builder.CreateCmp(kPredicate, in[0], in[1]);
}

constexpr char kFloats[] = "f16 f32 f64", kSigned[] = "i16 i32 i64", kUnsigned[] = "u16 u32 u64";
constexpr char kSignature[] = "p: @ @";

constexpr GcnRow kRows[] = {
    {"v_cmp_lt_@", kFloats, kSignature, compare<CmpInst::FCMP_OLT>},
    {"v_cmp_eq_@", kFloats, kSignature, compare<CmpInst::FCMP_OEQ>},
    {"v_cmp_le_@", kFloats, kSignature, compare<CmpInst::FCMP_OLE>},
    {"v_cmp_gt_@", kFloats, kSignature, compare<CmpInst::FCMP_OGT>},
    {"v_cmp_lg_@", kFloats, kSignature, compare<CmpInst::FCMP_ONE>},
    {"v_cmp_ge_@", kFloats, kSignature, compare<CmpInst::FCMP_OGE>},
    {"v_cmp_o_@", kFloats, kSignature, compare<CmpInst::FCMP_ORD>},
    {"v_cmp_u_@", kFloats, kSignature, compare<CmpInst::FCMP_UNO>},
    {"v_cmp_nge_@", kFloats, kSignature, compare<CmpInst::FCMP_ULT>},
    {"v_cmp_nlg_@", kFloats, kSignature, compare<CmpInst::FCMP_UEQ>},
    {"v_cmp_ngt_@", kFloats, kSignature, compare<CmpInst::FCMP_ULE>},
    {"v_cmp_nle_@", kFloats, kSignature, compare<CmpInst::FCMP_UGT>},
    {"v_cmp_neq_@", kFloats, kSignature, compare<CmpInst::FCMP_UNE>},
    {"v_cmp_nlt_@", kFloats, kSignature, compare<CmpInst::FCMP_UGE>},
    {"v_cmp_class_@", kFloats, "p: @ b32",
     [](llvm::IRBuilderBase& builder, GcnArguments in, llvm::Type*) -> Value* {
       return builder.CreateIntrinsic(llvm::Intrinsic::amdgcn_class, {in[0]->getType()}, in);
     }},
    {"v_cmp_lt_@", kSigned, kSignature, compare<CmpInst::ICMP_SLT>},
    {"v_cmp_eq_@", kSigned, kSignature, compare<CmpInst::ICMP_EQ>},
    {"v_cmp_le_@", kSigned, kSignature, compare<CmpInst::ICMP_SLE>},
    {"v_cmp_gt_@", kSigned, kSignature, compare<CmpInst::ICMP_SGT>},
    {"v_cmp_ne_@", kSigned, kSignature, compare<CmpInst::ICMP_NE>},
    {"v_cmp_ge_@", kSigned, kSignature, compare<CmpInst::ICMP_SGE>},
    {"v_cmp_lt_@", kUnsigned, kSignature, compare<CmpInst::ICMP_ULT>},
    {"v_cmp_eq_@", kUnsigned, kSignature, compare<CmpInst::ICMP_EQ>},
    {"v_cmp_le_@", kUnsigned, kSignature, compare<CmpInst::ICMP_ULE>},
    {"v_cmp_gt_@", kUnsigned, kSignature, compare<CmpInst::ICMP_UGT>},
    {"v_cmp_ne_@", kUnsigned, kSignature, compare<CmpInst::ICMP_NE>},
    {"v_cmp_ge_@", kUnsigned, kSignature, compare<CmpInst::ICMP_UGE>},
};

}  // namespace

llvm::ArrayRef<GcnRow> gcn_comparison_rows() { return kRows; }

}  // namespace mneme::codegen::host
