// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/ptx/comparisons.h"

#include <llvm/ADT/StringSwitch.h>

namespace mneme::codegen::ptx {

using llvm::CmpInst;
using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;

namespace {

std::optional<CmpInst::Predicate> float_predicate(StringRef name) {
  auto found = llvm::StringSwitch<CmpInst::Predicate>(name)
                   .Case("eq", CmpInst::FCMP_OEQ)
                   .Case("ne", CmpInst::FCMP_ONE)
                   .Case("lt", CmpInst::FCMP_OLT)
                   .Case("le", CmpInst::FCMP_OLE)
                   .Case("gt", CmpInst::FCMP_OGT)
                   .Case("ge", CmpInst::FCMP_OGE)
                   .Case("equ", CmpInst::FCMP_UEQ)
                   .Case("neu", CmpInst::FCMP_UNE)
                   .Case("ltu", CmpInst::FCMP_ULT)
                   .Case("leu", CmpInst::FCMP_ULE)
                   .Case("gtu", CmpInst::FCMP_UGT)
                   .Case("geu", CmpInst::FCMP_UGE)
                   .Case("num", CmpInst::FCMP_ORD)
                   .Case("nan", CmpInst::FCMP_UNO)
                   .Default(CmpInst::BAD_FCMP_PREDICATE);
  return found == CmpInst::BAD_FCMP_PREDICATE ? std::nullopt : std::optional(found);
}

std::optional<CmpInst::Predicate> integer_predicate(StringRef name, bool is_signed) {
  auto found = llvm::StringSwitch<CmpInst::Predicate>(name)
                   .Case("eq", CmpInst::ICMP_EQ)
                   .Case("ne", CmpInst::ICMP_NE)
                   .Case("lt", is_signed ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT)
                   .Case("le", is_signed ? CmpInst::ICMP_SLE : CmpInst::ICMP_ULE)
                   .Case("gt", is_signed ? CmpInst::ICMP_SGT : CmpInst::ICMP_UGT)
                   .Case("ge", is_signed ? CmpInst::ICMP_SGE : CmpInst::ICMP_UGE)
                   .Case("lo", CmpInst::ICMP_ULT)
                   .Case("ls", CmpInst::ICMP_ULE)
                   .Case("hi", CmpInst::ICMP_UGT)
                   .Case("hs", CmpInst::ICMP_UGE)
                   .Default(CmpInst::BAD_ICMP_PREDICATE);
  return found == CmpInst::BAD_ICMP_PREDICATE ? std::nullopt : std::optional(found);
}

}  // namespace

std::optional<CmpInst::Predicate> predicate_named(StringRef name, const PtxType& type) {
  return type.is_floating() ? float_predicate(name) : integer_predicate(name, type.is_signed());
}

Value* combine(Builder& builder, StringRef operation, Value* a, Value* b) {
  if (operation == "and") return builder.CreateAnd(a, b);
  return operation == "or" ? builder.CreateOr(a, b) : builder.CreateXor(a, b);
}

}  // namespace mneme::codegen::ptx
