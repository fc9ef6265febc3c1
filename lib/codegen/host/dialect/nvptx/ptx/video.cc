// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX's instructions on two or four parts of a word (vadd2, vset4, …), as clang's headers use them for CUDA's __v…
// functions: on whole words, the third operand zero, or what the parts' results are added to.
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Intrinsics.h>

#include "codegen/host/dialect/nvptx/ptx/ptx.h"

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;

struct Parts {
  Builder& builder;
  StringRef operation;  // without "v" and the number of parts
  StringRef comparison;
  PtxType to, a, b;
  bool saturates, adds_up;
};

// Which of the comparisons, of parts extended to integers that hold either.
Value* compare(const Parts& of, Value* x, Value* y) {
  Builder& builder = of.builder;
  if (of.comparison == "eq") return builder.CreateICmpEQ(x, y);
  if (of.comparison == "ne") return builder.CreateICmpNE(x, y);
  if (of.comparison == "lt") return builder.CreateICmpSLT(x, y);
  if (of.comparison == "le") return builder.CreateICmpSLE(x, y);
  if (of.comparison == "gt") return builder.CreateICmpSGT(x, y);
  return builder.CreateICmpSGE(x, y);
}

Value* compute(const Parts& of, Value* x, Value* y) {
  Builder& builder = of.builder;
  auto two = [&](llvm::Intrinsic::ID id) { return builder.CreateBinaryIntrinsic(id, x, y); };
  if (of.operation == "add") return builder.CreateAdd(x, y);
  if (of.operation == "sub") return builder.CreateSub(x, y);
  if (of.operation == "min") return two(llvm::Intrinsic::smin);
  if (of.operation == "max") return two(llvm::Intrinsic::smax);
  if (of.operation == "absdiff") return builder.CreateSub(two(llvm::Intrinsic::smax), two(llvm::Intrinsic::smin));
  if (of.operation == "avrg") {  // halves rounded away from zero
    Value* sum = builder.CreateAdd(x, y);
    Value* up = builder.CreateZExt(builder.CreateICmpSGE(sum, builder.getInt32(0)), builder.getInt32Ty());
    return builder.CreateAShr(builder.CreateAdd(sum, up), 1);
  }
  return builder.CreateZExt(compare(of, x, y), builder.getInt32Ty());
}

Value* limited(const Parts& of, Value* value, unsigned bits) {
  int64_t low = of.to.is_signed() ? -(int64_t{1} << (bits - 1)) : 0;
  int64_t high = of.to.is_signed() ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
  llvm::Type* type = value->getType();
  value = of.builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value, llvm::ConstantInt::getSigned(type, low));
  return of.builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, value, llvm::ConstantInt::getSigned(type, high));
}

}  // namespace

PtxResult raise_ptx_video(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  StringRef operation = name.operation();
  if (!operation.consume_front("v")) return std::nullopt;
  unsigned bits = operation.consume_back("4") ? 8 : operation.consume_back("2") ? 16 : 0;
  bool known = llvm::is_contained({"add", "sub", "min", "max", "absdiff", "avrg", "set"}, operation);
  if (!bits || !known || instruction.operands.size() != 3 || instruction.results != 1) return std::nullopt;
  Parts of{builder, operation, "", {}, {}, {}, false, false};
  // vset's result has no type of its own in the name.
  bool sets = operation == "set";
  std::optional<PtxType> to = sets ? PtxType{PtxType::kUnsigned, 32, 1} : name.take_type();
  std::optional<PtxType> a = name.take_type(), b = name.take_type();
  of.saturates = name.take("sat");
  of.adds_up = name.take("add");
  if (sets) of.comparison = name.take_one_of({"eq", "ne", "lt", "le", "gt", "ge"});
  if (!to || !a || !b || (sets && of.comparison.empty()) || !name.is_used_up()) return std::nullopt;
  of.to = *to;
  of.a = *a;
  of.b = *b;

  llvm::Type *word = builder.getInt32Ty(), *piece = builder.getIntNTy(bits);
  llvm::SmallVector<Value*, 3> in;
  for (Value* operand : instruction.operands) in.push_back(as_type(builder, operand, word));
  auto part = [&](Value* value, unsigned i, bool is_signed) {
    return builder.CreateIntCast(builder.CreateTrunc(builder.CreateLShr(value, i * bits), piece), word, is_signed);
  };
  Value* result = of.adds_up ? in[2] : builder.getInt32(0);
  for (unsigned i = 0; i < 32 / bits; ++i) {
    Value* value = compute(of, part(in[0], i, of.a.is_signed()), part(in[1], i, of.b.is_signed()));
    if (of.saturates) value = limited(of, value, bits);
    if (of.adds_up) {
      result = builder.CreateAdd(result, value);
    } else {
      value = builder.CreateZExt(builder.CreateTrunc(value, piece), word);
      result = builder.CreateOr(result, builder.CreateShl(value, i * bits));
    }
  }
  return PtxValues{result};
}

}  // namespace mneme::codegen::host
