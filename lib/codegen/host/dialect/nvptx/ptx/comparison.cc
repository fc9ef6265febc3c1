// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX's comparisons, and choices between values.
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Intrinsics.h>

#include "codegen/host/dialect/nvptx/ptx/rounding.h"
#include "codegen/host/semantics/flush_denormals.h"
#include "codegen/ptx/comparisons.h"

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;

// What `set` gives of each comparison. An integer for two halves has one for each of them.
std::optional<PtxType> element_of_result(const PtxType& to, const PtxType& type) {
  if (to.lanes == type.lanes) return to.element();
  if (type.lanes != 2 || to.is_floating() || to.lanes != 1 || to.bits != 32) return std::nullopt;
  return PtxType{to.kind, 16, 1};
}

// What `set` gives for true: one as a number, all ones as an integer.
Value* truth(Builder& builder, Value* condition, const PtxType& type) {
  llvm::Type* result = type.of(builder.getContext());
  if (type.kind == PtxType::kFloat) return builder.CreateUIToFP(condition, result);
  if (type.kind != PtxType::kBrain) return builder.CreateSExt(condition, result);
  constexpr uint16_t kOne = 0x3f80;
  return builder.CreateSelect(condition, builder.getInt16(kOne), builder.getInt16(0));
}

PtxResult compare(PtxInstruction& instruction, bool sets_predicate) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  StringRef comparison = name.take_first();
  StringRef with = name.take_one_of({"and", "or", "xor"});
  bool flushes = name.take("ftz");
  std::optional<PtxType> to = sets_predicate ? PtxType{PtxType::kPredicate, 1, 1} : name.take_type();
  std::optional<PtxType> type = name.take_type();
  if (!to || !type || !name.is_used_up() || instruction.operands.size() != (with.empty() ? 2u : 3u))
    return std::nullopt;
  // Two results, of two halves, are no predicate and its opposite.
  if (type->lanes == 2 && sets_predicate) return std::nullopt;
  auto predicate = ptx::predicate_named(comparison, *type);
  if (!predicate) return std::nullopt;
  Value* further = with.empty() ? nullptr : as_type(builder, instruction.operands[2], builder.getInt1Ty());
  std::optional<PtxType> result_element = sets_predicate ? to : element_of_result(*to, *type);
  if (!result_element) return std::nullopt;
  PtxType element = type->element();
  PtxValues results;
  for (unsigned result = 0; result < instruction.results; ++result) {
    results.push_back(by_elements(builder, *type, {instruction.operands[0], instruction.operands[1]},
                                  [&](llvm::ArrayRef<Value*> in) -> Value* {
                                    Value *a = in[0], *b = in[1];
                                    if (element.is_floating()) {
                                      a = widen(builder, a, element);
                                      b = widen(builder, b, element);
                                      if (flushes) {
                                        a = flush(builder, a);
                                        b = flush(builder, b);
                                      }
                                    }
                                    Value* holds = builder.CreateCmp(*predicate, a, b);
                                    if (result == 1) holds = builder.CreateNot(holds);
                                    if (further) holds = ptx::combine(builder, with, holds, further);
                                    return sets_predicate ? holds : truth(builder, holds, *result_element);
                                  }));
  }
  return results;
}

// testp: which kind of number it is.
PtxResult test_kind(PtxInstruction& instruction) {
  StringRef kind = instruction.name.take_first();
  auto asked = llvm::StringSwitch<unsigned>(kind)
                   .Case("finite", llvm::fcFinite)
                   .Case("infinite", llvm::fcInf)
                   .Case("number", ~static_cast<unsigned>(llvm::fcNan) & llvm::fcAllFlags)
                   .Case("notanumber", llvm::fcNan)
                   .Case("normal", llvm::fcNormal | llvm::fcZero)  // a zero counts as one
                   .Case("subnormal", llvm::fcSubnormal)
                   .Default(0);
  std::optional<PtxType> type = instruction.name.take_type();
  if (!asked || !type || type->kind != PtxType::kFloat || type->bits == 16 || !instruction.name.is_used_up()) {
    return std::nullopt;
  }
  return PtxValues{
      instruction.builder.createIsFPClass(as_type(instruction.builder, instruction.operands[0], *type), asked)};
}

}  // namespace

PtxResult raise_ptx_comparison(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  StringRef operation = instruction.name.operation();
  auto& operands = instruction.operands;
  if (operation == "setp") return compare(instruction, true);
  if (operation == "set" && instruction.results == 1) return compare(instruction, false);
  if (operation == "testp" && operands.size() == 1) return test_kind(instruction);
  if (operation == "selp" && operands.size() == 3) {
    std::optional<PtxType> type = instruction.name.take_type();
    if (!type || !instruction.name.is_used_up()) return std::nullopt;
    Value* condition = as_type(builder, operands[2], builder.getInt1Ty());
    return PtxValues{
        builder.CreateSelect(condition, as_type(builder, operands[0], *type), as_type(builder, operands[1], *type))};
  }
  if (operation == "slct" && operands.size() == 3) {  // the first if the third is not negative
    bool flushes = instruction.name.take("ftz");
    std::optional<PtxType> type = instruction.name.take_type(), by = instruction.name.take_type();
    if (!type || !by || !instruction.name.is_used_up()) return std::nullopt;
    Value* chooses = as_type(builder, operands[2], *by);
    if (flushes && by->is_single()) chooses = flush(builder, chooses);
    Value* zero = llvm::Constant::getNullValue(chooses->getType());
    Value* condition = by->is_floating() ? builder.CreateFCmpOGE(chooses, zero) : builder.CreateICmpSGE(chooses, zero);
    return PtxValues{
        builder.CreateSelect(condition, as_type(builder, operands[0], *type), as_type(builder, operands[1], *type))};
  }
  return std::nullopt;
}

}  // namespace mneme::codegen::host
