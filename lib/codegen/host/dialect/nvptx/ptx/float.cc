// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX's arithmetic on floating-point numbers. Small types are computed in float, where sums, products and quotients of
// theirs lose nothing that a second rounding would show. What PTX calls approximate is as exact as it comes.
#include <llvm/IR/Intrinsics.h>

#include "codegen/host/dialect/nvptx/ptx/rounding.h"
#include "codegen/host/math/library.h"
#include "codegen/host/math/parts.h"
#include "codegen/host/semantics/flush_denormals.h"

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;
using Arguments = llvm::ArrayRef<Value*>;

Value* number(Value* like, double value) { return llvm::ConstantFP::get(like->getType(), value); }
Value* root(Builder& builder, Value* x) { return builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x); }

unsigned operand_count(StringRef operation) {
  if (operation == "fma" || operation == "mad") return 3;
  bool two = operation == "add" || operation == "sub" || operation == "mul" || operation == "div" ||
             operation == "min" || operation == "max" || operation == "copysign";
  return two ? 2 : 1;
}

// x * y + z of small numbers, rounded once: as a float that holds enough bits to be rounded again.
Value* small_fused(Builder& builder, Arguments in, const PtxType& type) {
  llvm::Type* wide = builder.getFloatTy();
  const char* name = type.kind == PtxType::kBrain ? "fma_bf16_f32" : "fma_f16_f32";
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  return builder.CreateCall(math_function(module, name, wide, {wide, wide, wide}), in);
}

// add, sub, mul, fma, div, rcp, sqrt: of float or double. Null: none of these.
Value* exact(Builder& builder, StringRef operation, Arguments in, Rounding rounding) {
  bool nearest = rounding == Rounding::kNearest;
  llvm::Type* type = in[0]->getType();
  auto call = [&](StringRef name, Arguments arguments) {
    return call_rounded(builder, name, type, arguments, rounding);
  };
  if (operation == "add") return nearest ? builder.CreateFAdd(in[0], in[1]) : call("add", in);
  if (operation == "sub") {
    return nearest ? builder.CreateFSub(in[0], in[1]) : call("add", {in[0], builder.CreateFNeg(in[1])});
  }
  if (operation == "mul") return nearest ? builder.CreateFMul(in[0], in[1]) : call("mul", in);
  if (operation == "div") return nearest ? builder.CreateFDiv(in[0], in[1]) : call("div", in);
  if (operation == "rcp") {
    Value* one = number(in[0], 1.0);
    return nearest ? builder.CreateFDiv(one, in[0]) : call("div", {one, in[0]});
  }
  if (operation == "sqrt") return nearest ? root(builder, in[0]) : call("sqrt", in);
  if (operation == "fma" || operation == "mad") {
    return nearest ? builder.CreateIntrinsic(llvm::Intrinsic::fma, {type}, in) : call("fma", in);
  }
  return nullptr;
}

// A double's approximate reciprocal, or that of its root: of its upper word, and an upper word.
Value* upper_word_only(Builder& builder, StringRef operation, Value* x) {
  auto upper = [&](Value* value) {
    Value* bits = builder.CreateBitCast(value, builder.getInt64Ty());
    return builder.CreateBitCast(builder.CreateAnd(bits, ~uint64_t{UINT32_MAX}), builder.getDoubleTy());
  };
  x = flush(builder, upper(x));
  Value* divisor = operation == "rcp" ? x : root(builder, x);
  return flush(builder, upper(builder.CreateFDiv(number(x, 1.0), divisor)));
}

Value* elementary(Builder& builder, StringRef operation, Value* x) {
  StringRef name = operation == "ex2" ? "exp2" : operation == "lg2" ? "log2" : operation;  // sin, cos
  if (operation == "tanh") {
    llvm::Module& module = *builder.GetInsertBlock()->getModule();
    return builder.CreateCall(math_function(module, "tanh_f32", x->getType(), {x->getType()}), x);
  }
  return has_elementary(name, *x->getType()) ? call_elementary(builder, name, {x}) : nullptr;
}

// The less or greater of two; of a number and a NaN the number, unless NaNs are to be passed on. -0 is below 0.
Value* extremum(Builder& builder, bool less, Arguments in, bool keeps_nan) {
  Value* chosen =
      builder.CreateBinaryIntrinsic(less ? llvm::Intrinsic::minimum : llvm::Intrinsic::maximum, in[0], in[1]);
  if (keeps_nan) return chosen;
  chosen = builder.CreateSelect(builder.CreateFCmpUNO(in[0], in[0]), in[1], chosen);
  return builder.CreateSelect(builder.CreateFCmpUNO(in[1], in[1]), in[0], chosen);
}

struct Modifiers {
  std::optional<Rounding> rounding;
  bool approximate, flush, saturate, rectify, keeps_nan, xor_sign;
};

Modifiers take_modifiers(PtxName& name) {
  Modifiers with = {};
  with.rounding = take_rounding(name);
  with.approximate = !name.take_one_of({"approx", "full"}).empty();
  with.flush = name.take("ftz");
  name.take("noftz");
  with.saturate = name.take("sat");
  with.rectify = name.take("relu");
  with.keeps_nan = name.take("NaN");
  if (name.take("xorsign")) with.xor_sign = name.take("abs");
  return with;
}

// One element, of float or double, or of a small type in float.
Value* compute(Builder& builder, StringRef operation, Arguments in, const PtxType& type, const Modifiers& with) {
  bool small = type.bits == 16;
  if (with.approximate && type.bits == 64) {
    if (with.flush)
      return operation == "rcp" || operation == "rsqrt" ? upper_word_only(builder, operation, in[0]) : nullptr;
    return operation == "rsqrt" ? builder.CreateFDiv(number(in[0], 1.0), root(builder, in[0])) : nullptr;
  }
  if (operation == "rsqrt") return builder.CreateFDiv(number(in[0], 1.0), root(builder, in[0]));
  if (operation == "min" || operation == "max") {
    if (!with.xor_sign) return extremum(builder, operation == "min", in, with.keeps_nan);
    Value* sign =
        builder.CreateFMul(builder.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, number(in[0], 1.0), in[0]),
                           builder.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, number(in[1], 1.0), in[1]));
    Value* sizes[] = {builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, in[0]),
                      builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, in[1])};
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::copysign,
                                         extremum(builder, operation == "min", sizes, with.keeps_nan), sign);
  }
  if (small && (operation == "fma" || operation == "mad")) return small_fused(builder, in, type);
  Rounding rounding = with.rounding.value_or(Rounding::kNearest);
  if (small && rounding != Rounding::kNearest) return nullptr;
  if (Value* value = exact(builder, operation, in, rounding)) return value;
  return with.approximate ? elementary(builder, operation, in[0]) : nullptr;
}

// What only concerns the sign, of any type.
Value* move_sign(Builder& builder, StringRef operation, Arguments in, const PtxType& type) {
  llvm::Type* word = builder.getIntNTy(type.bits);
  llvm::APInt mask = llvm::APInt::getSignMask(type.bits);
  Value *sign = llvm::ConstantInt::get(word, mask), *rest = llvm::ConstantInt::get(word, ~mask);
  Value* bits = builder.CreateBitCast(in[0], word);
  Value* result = operation == "abs"   ? builder.CreateAnd(bits, rest)
                  : operation == "neg" ? builder.CreateXor(bits, sign)
                                       : builder.CreateOr(builder.CreateAnd(bits, sign),
                                                          builder.CreateAnd(builder.CreateBitCast(in[1], word), rest));
  return builder.CreateBitCast(result, in[0]->getType());
}

bool is_arithmetic(StringRef operation) {
  return llvm::is_contained({"add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin",
                             "cos", "tanh", "min", "max", "abs", "neg", "copysign"},
                            operation);
}

}  // namespace

PtxResult raise_ptx_float(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  StringRef operation = instruction.name.operation();
  if (!is_arithmetic(operation)) return std::nullopt;
  Modifiers with = take_modifiers(instruction.name);
  std::optional<PtxType> type = instruction.name.take_type();
  bool whole = type && type->is_floating() && instruction.name.is_used_up();
  if (!whole || instruction.operands.size() != operand_count(operation) || instruction.results != 1)
    return std::nullopt;
  if (with.rectify && with.saturate) return std::nullopt;

  PtxType element = type->element();
  bool known = true;
  Value* result = by_elements(builder, *type, instruction.operands, [&](Arguments given) -> Value* {
    llvm::SmallVector<Value*, 3> in;
    bool signs = operation == "abs" || operation == "neg" || operation == "copysign";
    if (signs) {
      Value* moved = move_sign(builder, operation, given, element);
      return with.flush && element.is_single() ? flush(builder, moved) : moved;
    }
    // Numbers of half precision flush as such, bfloat16 as the floats that they are.
    auto flushed = [&](Value* x) { return with.flush && !x->getType()->isIntegerTy() ? flush(builder, x) : x; };
    bool only_upper = with.approximate && element.bits == 64;
    for (Value* value : given) {
      Value* wide = widen(builder, only_upper ? value : flushed(value), element);
      in.push_back(with.flush && element.kind == PtxType::kBrain ? flush(builder, wide) : wide);
    }
    Value* value = compute(builder, operation, in, element, with);
    if (!value) {
      known = false;
      return given[0];
    }
    if (with.saturate) value = saturate(builder, value);
    if (with.rectify) value = rectify(builder, value);
    value = narrow(builder, value, element);
    return only_upper ? value : flushed(value);
  });
  if (!known) return std::nullopt;
  return PtxValues{result};
}

}  // namespace mneme::codegen::host
