// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/dialect/nvptx/ptx/rounding.h"

#include <llvm/IR/Intrinsics.h>

#include "codegen/host/math/library.h"

namespace mneme::codegen::host {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilderBase;

Value* number(Value* like, double value) { return llvm::ConstantFP::get(like->getType(), value); }

// What the processor calls a rounding mode.
uint32_t processor_mode(Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearest:
      return 0;
    case Rounding::kDown:
      return 1;
    case Rounding::kUp:
      return 2;
    case Rounding::kTowardsZero:
      return 3;
  }
  return 0;
}

// The upper half of a float, rounded to nearest even; a NaN stays one.
Value* nearest_brain(Builder& builder, Value* x) {
  Value* bits = builder.CreateBitCast(x, builder.getInt32Ty());
  Value* odd = builder.CreateAnd(builder.CreateLShr(bits, 16), 1);
  Value* rounded = builder.CreateAdd(bits, builder.CreateAdd(odd, builder.getInt32(0x7fff)));
  rounded = builder.CreateSelect(builder.CreateFCmpUNO(x, x), builder.getInt32(0x7fff0000), rounded);
  return builder.CreateTrunc(builder.CreateLShr(rounded, 16), builder.getInt16Ty());
}

// There is one NaN, as for bfloat16.
Value* nearest_half(Builder& builder, Value* x) {
  Value* one_nan = builder.CreateBitCast(builder.getInt16(0x7fff), builder.getHalfTy());
  return builder.CreateSelect(builder.CreateFCmpUNO(x, x), one_nan, builder.CreateFPTrunc(x, builder.getHalfTy()));
}

// The nearest, or the one beside it if that has gone the wrong way. As bits: one more is one farther from zero.
Value* directed(Builder& builder, Value* nearest, Value* too_low, Value* too_high, Rounding rounding) {
  llvm::Type* word = builder.getIntNTy(static_cast<unsigned>(nearest->getType()->getPrimitiveSizeInBits()));
  Value* bits = builder.CreateBitCast(nearest, word);
  Value* negative = builder.CreateICmpSLT(bits, llvm::ConstantInt::get(word, 0));
  auto moved = [&](Value* wrong, Value* inwards) {
    Value* step =
        builder.CreateSelect(inwards, llvm::ConstantInt::getAllOnesValue(word), llvm::ConstantInt::get(word, 1));
    return builder.CreateSelect(wrong, builder.CreateAdd(bits, step), bits);
  };
  Value* result = nullptr;
  if (rounding == Rounding::kDown) {
    result = moved(too_high, builder.CreateNot(negative));
  } else if (rounding == Rounding::kUp) {
    result = moved(too_low, negative);
  } else {
    result = moved(builder.CreateSelect(negative, too_low, too_high), builder.getTrue());
  }
  return builder.CreateBitCast(result, nearest->getType());
}

// add, mul or fma of floats without another mode of the processor's, whose change takes longer than all of this, and
// keeps loops from being vectorised: nvcc's expf has such an fma. In double a product is exact, and of a sum so is the
// error (Knuth's TwoSum).
Value* directed_single(Builder& builder, llvm::StringRef name, llvm::ArrayRef<Value*> in, Rounding rounding) {
  auto wide = [&](Value* x) { return builder.CreateFPExt(x, builder.getDoubleTy()); };
  Value* first = name == "add" ? wide(in[0]) : builder.CreateFMul(wide(in[0]), wide(in[1]));
  Value *sum = first, *error = number(first, 0.0);
  if (name != "mul") {
    Value* second = wide(in.back());
    sum = builder.CreateFAdd(first, second);
    Value* part = builder.CreateFSub(sum, first);
    error =
        builder.CreateFAdd(builder.CreateFSub(first, builder.CreateFSub(sum, part)), builder.CreateFSub(second, part));
    if (rounding == Rounding::kDown) {  // x + -x is -0
      Value* bits = builder.CreateOr(builder.CreateBitCast(first, builder.getInt64Ty()),
                                     builder.CreateBitCast(second, builder.getInt64Ty()));
      Value* cancelled = builder.CreateAnd(builder.CreateFCmpOEQ(sum, number(sum, 0.0)),
                                           builder.CreateICmpSLT(bits, builder.getInt64(0)));
      sum = builder.CreateSelect(cancelled, number(sum, -0.0), sum);
    }
  }
  Value* nearest = builder.CreateFPTrunc(sum, builder.getFloatTy());
  Value* back = wide(nearest);
  Value* same = builder.CreateFCmpOEQ(back, sum);
  auto wrong = [&](Value* by_more, Value* by_error) {
    return builder.CreateOr(by_more, builder.CreateAnd(same, by_error));
  };
  Value* too_low = wrong(builder.CreateFCmpOLT(back, sum), builder.CreateFCmpOGT(error, number(error, 0.0)));
  Value* too_high = wrong(builder.CreateFCmpOGT(back, sum), builder.CreateFCmpOLT(error, number(error, 0.0)));
  return directed(builder, nearest, too_low, too_high, rounding);
}

}  // namespace

std::optional<Rounding> take_rounding(PtxName& name) {
  if (name.take("rn")) return Rounding::kNearest;
  if (name.take("rz")) return Rounding::kTowardsZero;
  if (name.take("rm")) return Rounding::kDown;
  if (name.take("rp")) return Rounding::kUp;
  return std::nullopt;
}

Value* call_rounded(Builder& builder, llvm::StringRef name, llvm::Type* type, llvm::ArrayRef<Value*> arguments,
                    Rounding rounding) {
  bool single = type->isFloatTy() && (name == "add" || name == "mul" || name == "fma");
  if (single) return directed_single(builder, name, arguments, rounding);
  llvm::SmallVector<Value*, 4> values(arguments);
  values.push_back(builder.getInt32(processor_mode(rounding)));
  llvm::SmallVector<llvm::Type*, 4> types;
  for (Value* value : values) types.push_back(value->getType());
  std::string full = (name + "_rounded_" + (type->isDoubleTy() ? "f64" : "f32")).str();
  return builder.CreateCall(math_function(*builder.GetInsertBlock()->getModule(), full, type, types), values);
}

Value* widen(Builder& builder, Value* x, const PtxType& type) {
  if (type.kind == PtxType::kBrain) {
    Value* bits = builder.CreateShl(builder.CreateZExt(x, builder.getInt32Ty()), 16);
    return builder.CreateBitCast(bits, builder.getFloatTy());
  }
  return type.bits == 16 ? builder.CreateFPExt(x, builder.getFloatTy()) : x;
}

Value* narrow(Builder& builder, Value* x, const PtxType& type, Rounding rounding) {
  if (type.bits != 16) return x;
  Value* result = type.kind == PtxType::kBrain ? nearest_brain(builder, x) : nearest_half(builder, x);
  if (rounding == Rounding::kNearest) return result;
  Value* back = widen(builder, result, type);
  return directed(builder, result, builder.CreateFCmpOLT(back, x), builder.CreateFCmpOGT(back, x), rounding);
}

Value* saturate(Builder& builder, Value* x) {
  Value* low = builder.CreateSelect(builder.CreateFCmpOGT(x, number(x, 0.0)), x, number(x, 0.0));
  return builder.CreateSelect(builder.CreateFCmpOLT(low, number(x, 1.0)), low, number(x, 1.0));
}

Value* rectify(Builder& builder, Value* x) {
  return builder.CreateSelect(builder.CreateFCmpOLE(x, number(x, 0.0)), number(x, 0.0), x);
}

}  // namespace mneme::codegen::host
