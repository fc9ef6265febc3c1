// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arithmetic on float and double, comparisons and conversions, as far as LLVM has the same operation. ptxas may fuse a
// product and a sum that say no rounding: so may LLVM, which hands them on as they are. Those that say .rn stay apart.
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "codegen/ptx/comparisons.h"
#include "codegen/ptx/function.h"

namespace mneme::codegen::ptx {

using llvm::StringRef;
using llvm::Value;

namespace {

using Builder = llvm::IRBuilderBase;

// Of float and double.
bool is_plain_float(const PtxType& type) { return type.kind == PtxType::kFloat && type.bits >= 32 && type.lanes == 1; }

Value* fusible(Builder& builder, StringRef operation, llvm::ArrayRef<Value*> in) {
  llvm::IRBuilderBase::FastMathFlagGuard guard(builder);
  builder.getFastMathFlags().setAllowContract(true);
  if (operation == "add") return builder.CreateFAdd(in[0], in[1]);
  return operation == "sub" ? builder.CreateFSub(in[0], in[1]) : builder.CreateFMul(in[0], in[1]);
}

Value* rounded(Builder& builder, StringRef operation, llvm::ArrayRef<Value*> in, bool flush) {
  bool adds = operation != "mul", single = in[0]->getType()->isFloatTy();
  auto sum = !single ? llvm::Intrinsic::nvvm_add_rn_d
             : flush ? llvm::Intrinsic::nvvm_add_rn_ftz_f
                     : llvm::Intrinsic::nvvm_add_rn_f;
  auto product = !single ? llvm::Intrinsic::nvvm_mul_rn_d
                 : flush ? llvm::Intrinsic::nvvm_mul_rn_ftz_f
                         : llvm::Intrinsic::nvvm_mul_rn_f;
  Value* second = operation == "sub" ? builder.CreateFNeg(in[1]) : in[1];
  return builder.CreateIntrinsic(adds ? sum : product, {}, {in[0], second});
}

PtxResult arithmetic(PtxInstruction& instruction, bool flushes) {
  Builder& builder = instruction.builder;
  StringRef operation = instruction.name.operation();
  bool nearest = instruction.name.take("rn"), flush = instruction.name.take("ftz");
  std::optional<PtxType> type = instruction.name.take_type();
  if (!type || !is_plain_float(*type) || !instruction.name.is_used_up() || instruction.results != 1)
    return std::nullopt;
  if (type->bits == 32 && flush != flushes) return std::nullopt;
  llvm::SmallVector<Value*, 3> in;
  for (Value* operand : instruction.operands) in.push_back(as_type(builder, operand, *type));
  auto give = [](Value* value) { return PtxResult(PtxValues{value}); };
  if (in.size() == 1 && !nearest && !flush) {
    if (operation == "neg") return give(builder.CreateFNeg(in[0]));
    if (operation == "abs") return give(builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, in[0]));
    return std::nullopt;
  }
  if (in.size() == 1 && nearest) {
    if (operation == "sqrt") return give(builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, in[0]));
    if (operation == "rcp") return give(builder.CreateFDiv(llvm::ConstantFP::get(in[0]->getType(), 1.0), in[0]));
    return std::nullopt;
  }
  if (in.size() == 3 && operation == "fma" && nearest) {
    return give(builder.CreateIntrinsic(llvm::Intrinsic::fma, {in[0]->getType()}, in));
  }
  if (in.size() != 2) return std::nullopt;
  if (operation == "add" || operation == "sub" || operation == "mul") {
    return give(nearest ? rounded(builder, operation, in, flush) : fusible(builder, operation, in));
  }
  if (operation == "div" && nearest) return give(builder.CreateFDiv(in[0], in[1]));
  if (operation == "copysign" && !flush) {
    return give(builder.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, in[1], in[0]));
  }
  return std::nullopt;
}

PtxResult comparison(PtxInstruction& instruction, bool flushes) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  StringRef which = name.take_first(), with = name.take_one_of({"and", "or", "xor"});
  bool flush = name.take("ftz");
  std::optional<PtxType> type = name.take_type();
  if (!type || type->lanes != 1 || !name.is_used_up()) return std::nullopt;
  if (instruction.operands.size() != (with.empty() ? 2u : 3u)) return std::nullopt;
  if (type->is_floating() && (!is_plain_float(*type) || (type->bits == 32 && flush != flushes))) return std::nullopt;
  std::optional<llvm::CmpInst::Predicate> predicate = predicate_named(which, *type);
  if (!predicate) return std::nullopt;
  Value *a = as_type(builder, instruction.operands[0], *type), *b = as_type(builder, instruction.operands[1], *type);
  PtxValues results;
  for (unsigned i = 0; i < instruction.results; ++i) {
    Value* holds = builder.CreateCmp(*predicate, a, b);
    if (i == 1) holds = builder.CreateNot(holds);
    if (!with.empty()) {
      holds = combine(builder, with, holds, as_type(builder, instruction.operands[2], builder.getInt1Ty()));
    }
    results.push_back(holds);
  }
  return results;
}

PtxResult selection(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  std::optional<PtxType> type = instruction.name.take_type();
  auto& in = instruction.operands;
  if (!type || !instruction.name.is_used_up() || in.size() != 3) return std::nullopt;
  return PtxValues{builder.CreateSelect(as_type(builder, in[2], builder.getInt1Ty()), as_type(builder, in[0], *type),
                                        as_type(builder, in[1], *type))};
}

// A float made integral: cvt.rmi.f32.f32.
Value* integral(Builder& builder, StringRef rounding, Value* x) {
  auto which = llvm::StringSwitch<llvm::Intrinsic::ID>(rounding)
                   .Case("rni", llvm::Intrinsic::roundeven)
                   .Case("rzi", llvm::Intrinsic::trunc)
                   .Case("rmi", llvm::Intrinsic::floor)
                   .Default(llvm::Intrinsic::ceil);
  return builder.CreateUnaryIntrinsic(which, x);
}

PtxResult conversion(PtxInstruction& instruction, bool flushes) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  StringRef rounding = name.take_one_of({"rn", "rni", "rzi", "rmi", "rpi"});
  bool flush = name.take("ftz");
  std::optional<PtxType> to = name.take_type(), from = name.take_type();
  if (!to || !from || !name.is_used_up() || instruction.operands.size() != 1) return std::nullopt;
  if (to->lanes != 1 || from->lanes != 1 || to->bits > 64 || from->bits > 64) return std::nullopt;
  for (const PtxType& type : {*to, *from}) {
    if (type.is_floating() && !is_plain_float(type)) return std::nullopt;
  }
  bool single = to->is_single() || from->is_single();
  Value* x = as_type(builder, instruction.operands[0], *from);
  llvm::Type* type = to->of(builder.getContext());
  auto give = [](Value* value) { return PtxResult(PtxValues{value}); };
  if (!from->is_floating() && !to->is_floating()) {
    return rounding.empty() ? give(builder.CreateIntCast(x, type, from->is_signed())) : std::nullopt;
  }
  if (!from->is_floating()) {
    if (rounding != "rn") return std::nullopt;
    return give(from->is_signed() ? builder.CreateSIToFP(x, type) : builder.CreateUIToFP(x, type));
  }
  if (!to->is_floating() || (single && flush != flushes)) return std::nullopt;
  if (to->bits == from->bits) return rounding.size() == 3 ? give(integral(builder, rounding, x)) : std::nullopt;
  if (to->bits > from->bits) return rounding.empty() ? give(builder.CreateFPExt(x, type)) : std::nullopt;
  return rounding == "rn" ? give(builder.CreateFPTrunc(x, type)) : std::nullopt;
}

}  // namespace

PtxResult lift_plain_operation(PtxInstruction& instruction, bool flushes) {
  StringRef operation = instruction.name.operation();
  if (operation == "setp") return comparison(instruction, flushes);
  if (operation == "selp") return selection(instruction);
  if (operation == "cvt") return conversion(instruction, flushes);
  return arithmetic(instruction, flushes);
}

}  // namespace mneme::codegen::ptx
