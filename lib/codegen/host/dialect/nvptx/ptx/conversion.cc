// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX's conversions between types.
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>

#include <vector>

#include "codegen/host/dialect/nvptx/ptx/rounding.h"
#include "codegen/host/dialect/nvptx/raise.h"
#include "codegen/host/math/library.h"
#include "codegen/host/semantics/flush_denormals.h"

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;

llvm::Intrinsic::ID integral_rounding(StringRef name) {
  return name == "rni"   ? llvm::Intrinsic::roundeven
         : name == "rzi" ? llvm::Intrinsic::trunc
         : name == "rmi" ? llvm::Intrinsic::floor
                         : llvm::Intrinsic::ceil;
}

llvm::CallInst* call_math(Builder& builder, StringRef name, llvm::Type* type, Value* x) {
  return builder.CreateCall(math_function(*builder.GetInsertBlock()->getModule(), name, type, {x->getType()}), x);
}

// Integers beyond the type's range become its ends, a NaN 0, or of and into wide types the integer with only the
// upper bit set. `x`: a float or double, whole or to be cut.
Value* to_integer(Builder& builder, Value* x, llvm::Type* type, bool is_signed) {
  auto convert = is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  Value* result = builder.CreateIntrinsic(convert, {type, x->getType()}, {x});
  unsigned bits = type->getScalarSizeInBits();
  bool wide = x->getType()->getScalarType()->isDoubleTy() || bits == 64;
  if (!wide) return result;
  Value* of_nan = llvm::ConstantInt::get(type, llvm::APInt::getSignMask(bits));
  return builder.CreateSelect(builder.CreateFCmpUNO(x, x), of_nan, result);
}

Value* to_float(Builder& builder, Value* n, const PtxType& from, const PtxType& to, Rounding rounding) {
  if (from.bits < 32) {
    n = builder.CreateIntCast(n, builder.getInt32Ty(), from.is_signed());
  }
  bool wide = from.bits == 64;
  if (to.bits == 16) {
    // By way of a float that holds bits enough to be rounded again.
    Value* whole = builder.CreateIntCast(n, builder.getInt64Ty(), from.is_signed());
    Value* odd = call_math(builder, from.is_signed() ? "odd_s64_f32" : "odd_u64_f32", builder.getFloatTy(), whole);
    return narrow(builder, odd, to, rounding);
  }
  llvm::Type* type = to.of(builder.getContext());
  bool exact = to.bits == 64 && !wide;
  if (rounding == Rounding::kNearest || exact) {
    return from.is_signed() ? builder.CreateSIToFP(n, type) : builder.CreateUIToFP(n, type);
  }
  std::string name = from.is_signed() ? "s" : "u";
  return call_rounded(builder, name + (wide ? "64" : "32"), type, {n}, rounding);
}

// Between types of floating point, whose numbers are all doubles.
Value* resize(Builder& builder, Value* x, const PtxType& from, const PtxType& to, Rounding rounding) {
  if (to.bits == 64) return from.bits == 64 ? x : builder.CreateFPExt(widen(builder, x, from), builder.getDoubleTy());
  if (to.bits == 32) {
    if (from.bits != 64) return widen(builder, x, from);
    if (rounding == Rounding::kNearest) return builder.CreateFPTrunc(x, builder.getFloatTy());
    return call_rounded(builder, "f64", builder.getFloatTy(), {x}, rounding);
  }
  Value* single = from.bits == 64 ? call_math(builder, "odd_f32", builder.getFloatTy(), x) : widen(builder, x, from);
  return narrow(builder, single, to, rounding);
}

// The nearest number with ten bits behind the point, away from zero if there are two; in a float's place.
Value* to_tf32(Builder& builder, Value* x) {
  Value* bits = builder.CreateBitCast(as_type(builder, x, builder.getFloatTy()), builder.getInt32Ty());
  Value* rounded = builder.CreateAnd(builder.CreateAdd(bits, builder.getInt32(0x1000)), ~0x1fffu);
  Value* exponent = builder.CreateAnd(bits, 0x7f800000);
  Value* is_number = builder.CreateICmpNE(exponent, builder.getInt32(0x7f800000));
  return builder.CreateSelect(is_number, rounded, builder.CreateAnd(bits, ~0x1fffu));
}

struct Conversion {
  PtxType to, from;
  StringRef integral;
  std::optional<Rounding> rounding;
  bool flush, saturate, rectify;
};

Value* limit(Builder& builder, Value* n, const PtxType& from, const PtxType& to) {
  // In more bits than either type has.
  llvm::Type* wide = builder.getIntNTy(128);
  Value* whole = builder.CreateIntCast(n, wide, from.is_signed());
  llvm::APInt low = to.is_signed() ? llvm::APInt::getSignedMinValue(to.bits).sext(128) : llvm::APInt(128, 0);
  llvm::APInt high =
      to.is_signed() ? llvm::APInt::getSignedMaxValue(to.bits).sext(128) : llvm::APInt::getMaxValue(to.bits).zext(128);
  whole = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, whole, llvm::ConstantInt::get(wide, low));
  whole = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, whole, llvm::ConstantInt::get(wide, high));
  return builder.CreateTrunc(whole, to.of(builder.getContext()));
}

Value* convert(Builder& builder, Value* x, const Conversion& as) {
  // Of what becomes a smaller number nothing is flushed.
  bool flushes = as.flush && as.to.bits != 16;
  auto flushed = [&](Value* value) { return flushes && value->getType()->isFloatTy() ? flush(builder, value) : value; };
  x = as_type(builder, x, as.from);
  llvm::Type* type = as.to.of(builder.getContext());
  if (!as.from.is_floating()) {
    if (as.to.is_floating()) {
      Value* result = to_float(builder, x, as.from, as.to, as.rounding.value_or(Rounding::kNearest));
      return as.saturate ? saturate(builder, result) : result;
    }
    return as.saturate ? limit(builder, x, as.from, as.to) : builder.CreateIntCast(x, type, as.from.is_signed());
  }
  x = flushed(x);
  Value* wide = widen(builder, x, as.from);
  if (!as.integral.empty()) wide = builder.CreateUnaryIntrinsic(integral_rounding(as.integral), wide);
  if (!as.to.is_floating()) return to_integer(builder, wide, type, as.to.is_signed());
  PtxType from = as.from.bits == 16 ? PtxType{PtxType::kFloat, 32, 1} : as.from;
  if (as.saturate) wide = saturate(builder, wide);
  if (as.rectify) wide = rectify(builder, wide);
  return flushed(resize(builder, wide, from, as.to, as.rounding.value_or(Rounding::kNearest)));
}

// cvt.pack.sat.u8.s32.b32: two integers, kept to so many bits, above those of a third that are left. The second becomes
// the lowest.
PtxResult pack(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  auto& in = instruction.operands;
  llvm::StringRef to = name.take_one_of({"u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"});
  unsigned bits = 0;
  if (!name.take("sat") || to.empty() || to.drop_front().getAsInteger(10, bits) || !name.take("s32")) {
    return std::nullopt;
  }
  bool more = bits < 16;
  if (more != name.take("b32") || !name.is_used_up() || in.size() != (more ? 3u : 2u)) return std::nullopt;
  llvm::Type* word = builder.getInt32Ty();
  bool is_signed = to.starts_with("s");
  int64_t least = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  int64_t most = is_signed ? -least - 1 : (int64_t{1} << bits) - 1;
  auto kept = [&](Value* x) {
    x = as_type(builder, x, word);
    x = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, llvm::ConstantInt::getSigned(word, least));
    x = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, llvm::ConstantInt::getSigned(word, most));
    return builder.CreateAnd(x, (uint64_t{1} << bits) - 1);
  };
  Value* result = builder.CreateOr(builder.CreateShl(kept(in[0]), bits), kept(in[1]));
  if (more) result = builder.CreateOr(result, builder.CreateShl(as_type(builder, in[2], word), 2 * bits));
  return PtxValues{result};
}

}  // namespace

PtxResult raise_ptx_conversion(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  if (name.operation() != "cvt") return std::nullopt;
  if (name.take("pack")) return pack(instruction);
  if (name.take("tf32")) {
    bool known = name.take("rna") && name.take("f32") && name.is_used_up() && instruction.operands.size() == 1;
    return known ? PtxResult(PtxValues{to_tf32(builder, instruction.operands[0])}) : std::nullopt;
  }
  Conversion as = {};
  as.integral = name.take_one_of({"rni", "rzi", "rmi", "rpi"});
  as.rounding = take_rounding(name);
  as.flush = name.take("ftz");
  as.saturate = name.take("sat");
  as.rectify = name.take("relu");
  std::optional<PtxType> to = name.take_type(), from = name.take_type();
  if (!to || !from || !name.is_used_up() || to->bits == 128 || from->lanes != 1) return std::nullopt;
  as.to = to->element();
  as.from = *from;
  if (instruction.operands.size() != to->lanes) return std::nullopt;
  // The first operand becomes the upper half.
  llvm::SmallVector<Value*, 2> converted;
  for (Value* operand : llvm::reverse(instruction.operands)) converted.push_back(convert(builder, operand, as));
  if (to->lanes == 1) return PtxValues{converted[0]};
  Value* both = llvm::PoisonValue::get(to->of(builder.getContext()));
  for (unsigned i = 0; i < 2; ++i) both = builder.CreateInsertElement(both, converted[i], i);
  return PtxValues{both};
}

void raise_plain_conversions(llvm::Module& module) {
  std::vector<llvm::CastInst*> conversions;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      bool converts = llvm::isa<llvm::FPToSIInst, llvm::FPToUIInst>(instruction);
      if (converts && instruction.getType()->getScalarSizeInBits() <= 64) {
        conversions.push_back(llvm::cast<llvm::CastInst>(&instruction));
      }
    }
  }
  for (llvm::CastInst* conversion : conversions) {
    llvm::IRBuilder<> builder(conversion);
    llvm::Type *type = conversion->getType(), *from = conversion->getSrcTy();
    if (from->getScalarType()->isHalfTy()) from = from->getWithNewType(builder.getFloatTy());
    // There is no instruction for fewer than sixteen bits.
    llvm::Type* converted = type->getScalarSizeInBits() < 16 ? type->getWithNewBitWidth(16) : type;
    Value* x = builder.CreateFPExt(conversion->getOperand(0), from);
    Value* result = to_integer(builder, x, converted, llvm::isa<llvm::FPToSIInst>(conversion));
    conversion->replaceAllUsesWith(builder.CreateTrunc(result, type));
    conversion->eraseFromParent();
  }
}

}  // namespace mneme::codegen::host
