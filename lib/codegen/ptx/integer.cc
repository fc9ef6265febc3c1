// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX's arithmetic on integers.
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Intrinsics.h>

#include "codegen/ptx/instruction.h"

namespace mneme::codegen::ptx {
namespace {

using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;

llvm::Type* twice(Value* x) { return x->getType()->getExtendedType(); }

Value* extend(Builder& builder, Value* x, llvm::Type* type, bool is_signed) {
  return builder.CreateIntCast(x, type, is_signed);
}

// The whole product, of twice as many bits.
Value* whole_product(Builder& builder, Value* a, Value* b, bool is_signed) {
  return builder.CreateMul(extend(builder, a, twice(a), is_signed), extend(builder, b, twice(b), is_signed));
}

// mul and mad: the product's lower half, its upper, or all of it.
Value* product(Builder& builder, StringRef part, Value* a, Value* b, bool is_signed) {
  if (part == "lo") return builder.CreateMul(a, b);
  Value* whole = whole_product(builder, a, b, is_signed);
  if (part == "wide") return whole;
  return builder.CreateTrunc(builder.CreateLShr(whole, a->getType()->getIntegerBitWidth()), a->getType());
}

// mul24, mad24: of the low 24 bits of each; the low 32 bits of the product, or what is above its low 16.
Value* product_24(Builder& builder, StringRef part, Value* a, Value* b, bool is_signed) {
  auto low = [&](Value* x) {
    Value* up = builder.CreateShl(x, 8);
    return is_signed ? builder.CreateAShr(up, 8) : builder.CreateLShr(up, 8);
  };
  Value* whole = whole_product(builder, low(a), low(b), is_signed);
  return builder.CreateTrunc(part == "lo" ? whole : builder.CreateLShr(whole, 16), a->getType());
}

Value* difference(Builder& builder, Value* a, Value* b, bool is_signed) {
  return builder.CreateSub(
      builder.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a, b),
      builder.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a, b));
}

// add.cc, addc, sub.cc, subc, mad.cc, madc: the flag is the sum's carry. A difference is the sum a + ~b + 1: its flag
// is set where nothing is borrowed. The PTX ISA calls it the borrow, but NVIDIA's own division of 128-bit integers adds
// it to zero behind subc.cc, and takes what is not zero for no borrow.
struct Carrying {
  Builder& builder;
  Value** flag;
  bool takes, gives;

  Value* add(Value* a, Value* b) const { return run(a, b, true); }
  Value* subtract(Value* a, Value* b) const { return run(a, b, false); }

 private:
  Value* run(Value* a, Value* b, bool sums) const {
    if (!takes && !gives) return sums ? builder.CreateAdd(a, b) : builder.CreateSub(a, b);
    llvm::Type *type = a->getType(), *wide = builder.getIntNTy(type->getIntegerBitWidth() + 1);
    Value *x = builder.CreateZExt(a, wide), *y = builder.CreateZExt(sums ? b : builder.CreateNot(b), wide);
    Value* whole = builder.CreateAdd(x, y);
    if (takes) whole = builder.CreateAdd(whole, builder.CreateZExt(*flag, wide));
    if (!takes && !sums) whole = builder.CreateAdd(whole, llvm::ConstantInt::get(wide, 1));
    if (gives) {
      *flag = builder.CreateTrunc(builder.CreateLShr(whole, type->getIntegerBitWidth()), builder.getInt1Ty());
    }
    return builder.CreateTrunc(whole, type);
  }
};

bool carries(StringRef operation) { return operation == "addc" || operation == "subc" || operation == "madc"; }

// dp4a, dp2a: products of the parts of two words, added to a third. `half`: which bytes of the second dp2a takes.
PtxResult dot(PtxInstruction& instruction, unsigned bits) {
  Builder& builder = instruction.builder;
  StringRef half = bits == 16 ? instruction.name.take_one_of({"lo", "hi"}) : "lo";
  std::optional<PtxType> a = instruction.name.take_type(), b = instruction.name.take_type();
  if (half.empty() || !a || !b || !instruction.name.is_used_up() || instruction.operands.size() != 3) {
    return std::nullopt;
  }
  llvm::Type* word = builder.getInt32Ty();
  auto part = [&](Value* value, unsigned size, unsigned i, bool is_signed) {
    Value* piece = builder.CreateTrunc(builder.CreateLShr(value, size * i), builder.getIntNTy(size));
    return extend(builder, piece, word, is_signed);
  };
  Value *x = as_type(builder, instruction.operands[0], word), *y = as_type(builder, instruction.operands[1], word);
  Value* sum = as_type(builder, instruction.operands[2], word);
  for (unsigned i = 0; i < 32 / bits; ++i) {
    unsigned byte = half == "hi" ? i + 2 : i;
    sum = builder.CreateAdd(sum, builder.CreateMul(part(x, bits, i, a->is_signed()), part(y, 8, byte, b->is_signed())));
  }
  return PtxValues{sum};
}

// Sums and differences that end at the ends of their type's range.
Value* saturated(Builder& builder, StringRef operation, Value* a, Value* b, bool is_signed) {
  bool adds = operation == "add";
  auto which = is_signed ? (adds ? llvm::Intrinsic::sadd_sat : llvm::Intrinsic::ssub_sat)
                         : (adds ? llvm::Intrinsic::uadd_sat : llvm::Intrinsic::usub_sat);
  return builder.CreateBinaryIntrinsic(which, a, b);
}

unsigned integer_operand_count(StringRef operation) {
  if (operation == "neg" || operation == "abs") return 1;
  return operation.starts_with("mad") || operation == "sad" ? 3 : 2;
}

bool is_integer_arithmetic(StringRef operation) {
  return llvm::is_contained({"add", "sub", "mul", "mad", "mul24", "mad24", "sad", "div", "rem", "abs", "neg", "min",
                             "max", "addc", "subc", "madc"},
                            operation);
}

// add, sub and mad, in any of their forms.
Value* sum_or_difference(PtxInstruction& instruction, StringRef part, const PtxType& type, llvm::ArrayRef<Value*> in,
                         bool gives_carry) {
  Builder& builder = instruction.builder;
  StringRef operation = instruction.name.operation();
  Carrying carry{builder, instruction.carry, carries(operation), gives_carry};
  if (!operation.starts_with("mad")) {
    return operation.starts_with("add") ? carry.add(in[0], in[1]) : carry.subtract(in[0], in[1]);
  }
  Value* multiplied = operation == "mad24" ? product_24(builder, part, in[0], in[1], type.is_signed())
                                           : product(builder, part, in[0], in[1], type.is_signed());
  Value* third = as_type(builder, instruction.operands[2], multiplied->getType(), type.is_signed());
  return carry.add(multiplied, third);
}

// mad.wide's third operand is as wide as the sum, and no element of the type.
llvm::ArrayRef<Value*> without_last(const PtxInstruction& instruction, bool wide) {
  llvm::ArrayRef<Value*> operands(instruction.operands);
  return wide && operands.size() == 3 ? operands.drop_back() : operands;
}

Value* compute(PtxInstruction& instruction, StringRef part, const PtxType& type, llvm::ArrayRef<Value*> in,
               bool saturates, bool gives_carry, bool relu) {
  Builder& builder = instruction.builder;
  StringRef operation = instruction.name.operation();
  bool is_signed = type.is_signed();
  if (operation == "mul") return product(builder, part, in[0], in[1], is_signed);
  if (operation == "mul24") return product_24(builder, part, in[0], in[1], is_signed);
  if (operation == "sad") return builder.CreateAdd(difference(builder, in[0], in[1], is_signed), in[2]);
  if (operation == "div") return is_signed ? builder.CreateSDiv(in[0], in[1]) : builder.CreateUDiv(in[0], in[1]);
  if (operation == "rem") return is_signed ? builder.CreateSRem(in[0], in[1]) : builder.CreateURem(in[0], in[1]);
  if (operation == "abs") return builder.CreateBinaryIntrinsic(llvm::Intrinsic::abs, in[0], builder.getFalse());
  if (operation == "neg") return builder.CreateNeg(in[0]);
  if (operation == "min" || operation == "max") {
    auto lesser = is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin;
    auto greater = is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax;
    Value* chosen = builder.CreateBinaryIntrinsic(operation == "min" ? lesser : greater, in[0], in[1]);
    Value* zero = llvm::ConstantInt::get(chosen->getType(), 0);
    return relu ? builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, chosen, zero) : chosen;
  }
  if (saturates) return saturated(builder, operation, in[0], in[1], is_signed);
  return sum_or_difference(instruction, part, type, in, gives_carry);
}

}  // namespace

PtxResult raise_ptx_integer(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  StringRef operation = name.operation();
  if (operation == "dp4a") return dot(instruction, 8);
  if (operation == "dp2a") return dot(instruction, 16);
  if (!is_integer_arithmetic(operation)) return std::nullopt;
  bool multiplies = operation.starts_with("mul") || operation.starts_with("mad");
  StringRef part = multiplies ? name.take_one_of({"lo", "hi", "wide"}) : "";
  bool saturates = name.take("sat"), gives_carry = name.take("cc"), relu = name.take("relu");
  std::optional<PtxType> type = name.take_type();
  if (!type || type->is_floating() || type->kind == PtxType::kPredicate || !name.is_used_up()) return std::nullopt;
  if (instruction.operands.size() != integer_operand_count(operation) || instruction.results != 1) return std::nullopt;
  if ((carries(operation) || gives_carry) && !instruction.carry) return std::nullopt;
  if (multiplies && part.empty()) return std::nullopt;
  if (saturates && operation != "add" && operation != "sub") return std::nullopt;
  if (relu && operation != "min" && operation != "max") return std::nullopt;
  bool wide = part == "wide";
  bool sums = operation == "add" || operation == "sub" || operation.starts_with("mad") || carries(operation);
  if (gives_carry && !sums) return std::nullopt;

  return PtxValues{by_elements(builder, *type, without_last(instruction, wide), [&](llvm::ArrayRef<Value*> in) {
    return compute(instruction, part, type->element(), in, saturates, gives_carry, relu);
  })};
}

}  // namespace mneme::codegen::ptx
