// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX's conversions to and from numbers of eight bits. They come in pairs, the first operand's in the upper byte; what
// is done is done to one after the other, since loops with vectors in them are not vectorised.
#include <llvm/IR/Intrinsics.h>

#include <cmath>

#include "codegen/host/dialect/nvptx/ptx/rounding.h"

namespace mneme::codegen::host {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilderBase;

struct Format {
  unsigned fraction_bits, bias;
  uint8_t largest;    // that is finite
  uint8_t first_nan;  // e4m3 has no infinity, and one NaN of each sign
};
constexpr Format kE4m3 = {3, 7, 0x7e, 0x7f}, kE5m2 = {2, 15, 0x7b, 0x7d};

constexpr PtxType kHalf = {PtxType::kFloat, 16, 1}, kHalves = {PtxType::kFloat, 16, 2};
constexpr PtxType kSingle = {PtxType::kFloat, 32, 1}, kPair = {PtxType::kBits, 16, 1};

// Of a float, rounded to nearest even: what is too large, infinite or not, is the largest; in the lower bits of a word.
Value* to_format(Builder& builder, Value* x, const Format& format) {
  Value* bits = builder.CreateBitCast(x, builder.getInt32Ty());
  Value* size = builder.CreateAnd(bits, 0x7fffffff);
  // The carry from what is dropped goes on into the exponent where it has to.
  unsigned dropped = 23 - format.fraction_bits;
  Value* odd = builder.CreateAnd(builder.CreateLShr(size, dropped), 1);
  Value* carried = builder.CreateAdd(size, builder.CreateAdd(odd, builder.getInt32((1u << (dropped - 1)) - 1)));
  Value* exponent_moved = builder.CreateSub(carried, builder.getInt32((127 - format.bias) << 23));
  Value* normal = builder.CreateLShr(exponent_moved, dropped);
  // Below the normal numbers the sum with a float whose last bit counts as much as the format's is rounded as it must.
  llvm::APFloat base(std::ldexp(1.0f, 24 - static_cast<int>(format.bias + format.fraction_bits)));
  Value* above = llvm::ConstantFP::get(builder.getContext(), base);
  Value* sum = builder.CreateFAdd(builder.CreateBitCast(size, builder.getFloatTy()), above);
  Value* small = builder.CreateSub(builder.CreateBitCast(sum, builder.getInt32Ty()),
                                   llvm::ConstantInt::get(builder.getContext(), base.bitcastToAPInt()));
  Value* is_small = builder.CreateICmpULT(size, builder.getInt32((128 - format.bias) << 23));
  Value* number = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, builder.CreateSelect(is_small, small, normal),
                                                builder.getInt32(format.largest));
  Value* sign = builder.CreateAnd(builder.CreateLShr(bits, 24), 0x80);
  Value* is_nan = builder.CreateICmpUGT(size, builder.getInt32(0x7f800000));
  return builder.CreateSelect(is_nan, builder.getInt32(0x7f), builder.CreateOr(number, sign));
}

// A half's exponents count from 15, e4m3's from 7. The eight below the normal ones are normal halves: the upper bytes
// of these, whose lower bytes are zero, stand in a word one after the other.
Value* half_of_e4m3(Builder& builder, Value* size) {
  Value* normal = builder.CreateAdd(builder.CreateShl(size, 7), builder.getInt16((15 - 7) << 10));
  Value* place = builder.CreateShl(builder.CreateAnd(size, 7), 3);
  Value* uppers =
      builder.CreateLShr(builder.getInt64(0x232221201e1c1800), builder.CreateZExt(place, builder.getInt64Ty()));
  Value* small = builder.CreateShl(builder.CreateTrunc(uppers, builder.getInt16Ty()), 8);
  return builder.CreateSelect(builder.CreateICmpULT(size, builder.getInt16(8)), small, normal);
}

// The bits of the half that it is, since halves have all of them. `x`: in the lower eight of sixteen bits.
Value* from_format(Builder& builder, Value* x, const Format& format) {
  Value* size = builder.CreateAnd(x, 0x7f);
  Value* half = format.bias == 15 ? builder.CreateShl(size, 8) : half_of_e4m3(builder, size);
  Value* sign = builder.CreateShl(builder.CreateAnd(x, 0x80), 8);
  Value* is_nan = builder.CreateICmpUGE(size, builder.getInt16(format.first_nan));
  return builder.CreateSelect(is_nan, builder.getInt16(0x7fff), builder.CreateOr(half, sign));
}

// Of bits of a half: those of a zero where it is below zero.
Value* rectify_half(Builder& builder, Value* bits) {
  return builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, bits, builder.getInt16(0));
}

PtxResult to_pair(PtxInstruction& instruction, const Format& format, bool rectifies) {
  Builder& builder = instruction.builder;
  std::optional<PtxType> from = instruction.name.take_type();
  if (!from || !instruction.name.is_used_up()) return std::nullopt;
  llvm::SmallVector<Value*, 2> numbers;  // the upper one first
  if (from->is_single() && instruction.operands.size() == 2) {
    for (Value* operand : instruction.operands) numbers.push_back(as_type(builder, operand, kSingle));
  } else if (from->kind == PtxType::kFloat && from->bits == 16 && from->lanes == 2 &&
             instruction.operands.size() == 1) {
    Value* both = as_type(builder, instruction.operands[0], kHalves);
    for (uint64_t i : {1, 0}) numbers.push_back(widen(builder, builder.CreateExtractElement(both, i), kHalf));
  } else {
    return std::nullopt;
  }
  for (Value*& number : numbers) number = to_format(builder, rectifies ? rectify(builder, number) : number, format);
  Value* both = builder.CreateOr(builder.CreateShl(numbers[0], 8), numbers[1]);
  return PtxValues{builder.CreateTrunc(both, builder.getInt16Ty())};
}

PtxResult from_pair(PtxInstruction& instruction, const Format& format, bool rectifies) {
  Builder& builder = instruction.builder;
  if (!instruction.name.take("f16x2") || !instruction.name.is_used_up() || instruction.operands.size() != 1) {
    return std::nullopt;
  }
  Value* pair = as_type(builder, instruction.operands[0], kPair);
  llvm::Type* word = builder.getInt32Ty();
  Value* lower = from_format(builder, builder.CreateAnd(pair, 0xff), format);
  Value* upper = from_format(builder, builder.CreateLShr(pair, 8), format);
  if (rectifies) {
    lower = rectify_half(builder, lower);
    upper = rectify_half(builder, upper);
  }
  Value* both =
      builder.CreateOr(builder.CreateZExt(lower, word), builder.CreateShl(builder.CreateZExt(upper, word), 16));
  return PtxValues{both};
}

}  // namespace

PtxResult raise_ptx_fp8(PtxInstruction& instruction) {
  PtxName& name = instruction.name;
  if (name.operation() != "cvt") return std::nullopt;
  llvm::StringRef packed = name.take_one_of({"e4m3x2", "e5m2x2"});
  if (packed.empty() || !name.take("rn")) return std::nullopt;
  const Format& format = packed == "e4m3x2" ? kE4m3 : kE5m2;
  bool rectifies = name.take("relu");
  // Only what becomes smaller saturates, and that it must say.
  return name.take("satfinite") ? to_pair(instruction, format, rectifies) : from_pair(instruction, format, rectifies);
}

}  // namespace mneme::codegen::host
