// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX's video instructions: on parts of words (vadd, vmad, …), and on two or four parts of a word each (vadd2, vset4,
// …). An operand says which part it means ("%r1.b3", "%r1.h0", of several parts "%r1.b7310"), and so does the result.
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Intrinsics.h>

#include "codegen/host/dialect/nvptx/ptx/ptx.h"

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;

struct Video {
  Builder& builder;
  StringRef operation;  // without "v" and the number of parts
  StringRef comparison, shift;
  PtxType to, a, b;
  bool saturates;
};

// Of parts extended to integers that hold either.
Value* compare(const Video& of, Value* x, Value* y) {
  Builder& builder = of.builder;
  if (of.comparison == "eq") return builder.CreateICmpEQ(x, y);
  if (of.comparison == "ne") return builder.CreateICmpNE(x, y);
  if (of.comparison == "lt") return builder.CreateICmpSLT(x, y);
  if (of.comparison == "le") return builder.CreateICmpSLE(x, y);
  if (of.comparison == "gt") return builder.CreateICmpSGT(x, y);
  return builder.CreateICmpSGE(x, y);
}

Value* shifted(const Video& of, Value* x, Value* y) {
  Builder& builder = of.builder;
  llvm::Type* type = x->getType();
  Value* by = of.shift == "wrap"
                  ? builder.CreateAnd(y, llvm::ConstantInt::get(type, 31))
                  : builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, y, llvm::ConstantInt::get(type, 32));
  return of.operation == "shl" ? builder.CreateShl(x, by) : builder.CreateAShr(x, by);
}

Value* compute(const Video& of, Value* x, Value* y) {
  Builder& builder = of.builder;
  auto two = [&](llvm::Intrinsic::ID id) { return builder.CreateBinaryIntrinsic(id, x, y); };
  if (of.operation == "add") return builder.CreateAdd(x, y);
  if (of.operation == "sub") return builder.CreateSub(x, y);
  if (of.operation == "min") return two(llvm::Intrinsic::smin);
  if (of.operation == "max") return two(llvm::Intrinsic::smax);
  if (of.operation == "absdiff") return builder.CreateSub(two(llvm::Intrinsic::smax), two(llvm::Intrinsic::smin));
  if (of.operation == "shl" || of.operation == "shr") return shifted(of, x, y);
  if (of.operation == "avrg") {  // halves rounded away from zero
    Value* sum = builder.CreateAdd(x, y);
    Value* up = builder.CreateICmpSGE(sum, llvm::ConstantInt::get(sum->getType(), 0));
    return builder.CreateAShr(builder.CreateAdd(sum, builder.CreateZExt(up, sum->getType())), 1);
  }
  return builder.CreateZExt(compare(of, x, y), x->getType());
}

Value* limited(Builder& builder, Value* value, bool is_signed, unsigned bits) {
  int64_t low = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  int64_t high = is_signed ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
  llvm::Type* type = value->getType();
  value = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value, llvm::ConstantInt::getSigned(type, low));
  return builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, value, llvm::ConstantInt::getSigned(type, high));
}

// So many bits of a word, as an integer of that type.
Value* extract(Builder& builder, Value* word, unsigned at, unsigned bits, bool is_signed, llvm::Type* type) {
  Value* piece = builder.CreateTrunc(builder.CreateLShr(word, at), builder.getIntNTy(bits));
  return builder.CreateIntCast(piece, type, is_signed);
}

// "b3", "h1": where such a part lies. Nothing: there is no such part.
struct Place {
  unsigned at, bits;
};
std::optional<Place> place_of(StringRef part) {
  if (part.empty()) return Place{0, 32};
  unsigned bits = part.consume_front("b") ? 8 : part.consume_front("h") ? 16 : 0, number = 0;
  if (!bits || part.getAsInteger(10, number) || number >= 32 / bits) return std::nullopt;
  return Place{number * bits, bits};
}

// "b7310": from which of the parts of a, and then of b, each part of an operand comes, the lowest first.
std::optional<llvm::SmallVector<unsigned, 4>> choice_of(StringRef part, unsigned bits, unsigned first) {
  unsigned count = 32 / bits;
  llvm::SmallVector<unsigned, 4> choice;
  for (unsigned i = 0; i < count; ++i) choice.push_back(first + i);
  if (part.empty()) return choice;
  if (!part.consume_front(bits == 8 ? "b" : "h") || part.size() != count) return std::nullopt;
  for (unsigned i = 0; i < count; ++i) {
    auto number = static_cast<unsigned>(part[count - 1 - i] - '0');
    if (number >= 2 * count) return std::nullopt;
    choice[i] = number;
  }
  return choice;
}

// "h10", "b20": which parts of the result are written.
std::optional<unsigned> mask_of(StringRef part, unsigned bits) {
  unsigned count = 32 / bits, mask = 0;
  if (part.empty()) return (1u << count) - 1;
  if (!part.consume_front(bits == 8 ? "b" : "h") || part.empty()) return std::nullopt;
  for (char digit : part) {
    auto number = static_cast<unsigned>(digit - '0');
    if (number >= count) return std::nullopt;
    mask |= 1u << number;
  }
  return mask;
}

StringRef part_of(const PtxInstruction& instruction, size_t operand) {
  return operand < instruction.parts.size() ? StringRef(instruction.parts[operand]) : "";
}

PtxResult raise_parts(PtxInstruction& instruction, const Video& of, unsigned bits, bool adds_up) {
  Builder& builder = of.builder;
  std::optional<unsigned> mask = mask_of(part_of(instruction, 0), bits);
  auto from_a = choice_of(part_of(instruction, 1), bits, 0),
       from_b = choice_of(part_of(instruction, 2), bits, 32 / bits);
  if (!mask || !from_a || !from_b || !part_of(instruction, 3).empty() || instruction.operands.size() != 3) {
    return std::nullopt;
  }
  llvm::Type *word = builder.getInt32Ty(), *piece = builder.getIntNTy(bits);
  llvm::SmallVector<Value*, 3> in;
  for (Value* operand : instruction.operands) in.push_back(as_type(builder, operand, word));
  auto part = [&](unsigned number, bool is_signed) {
    return extract(builder, in[number * bits / 32], number * bits % 32, bits, is_signed, word);
  };
  uint32_t written = 0;
  for (unsigned i = 0; i < 32 / bits; ++i) written |= *mask >> i & 1 ? ((uint64_t{1} << bits) - 1) << i * bits : 0;
  Value* result = adds_up ? in[2] : builder.CreateAnd(in[2], ~written);
  for (unsigned i = 0; i < 32 / bits; ++i) {
    if (!(*mask >> i & 1)) continue;
    Value* value = compute(of, part((*from_a)[i], of.a.is_signed()), part((*from_b)[i], of.b.is_signed()));
    if (of.saturates) value = limited(builder, value, of.to.is_signed(), bits);
    if (adds_up) {
      result = builder.CreateAdd(result, value);
    } else {
      value = builder.CreateZExt(builder.CreateTrunc(value, piece), word);
      result = builder.CreateOr(result, builder.CreateShl(value, i * bits));
    }
  }
  return PtxValues{result};
}

// The product of two parts and a sum, with all of its bits.
PtxResult raise_product(PtxInstruction& instruction, const Video& of, bool plus_one, unsigned scale) {
  Builder& builder = of.builder;
  llvm::Type *word = builder.getInt32Ty(), *wide = builder.getInt128Ty();
  if (instruction.operands.size() != 3 || !part_of(instruction, 0).empty()) return std::nullopt;
  bool negated[3];
  Value* in[3];
  for (unsigned i = 0; i < 3; ++i) {
    StringRef part = part_of(instruction, 1 + i);
    negated[i] = part.consume_front("-");
    std::optional<Place> place = place_of(part);
    if (!place || (i == 2 && place->bits != 32)) return std::nullopt;
    in[i] = as_type(builder, instruction.operands[i], word);
    if (i < 2) in[i] = extract(builder, in[i], place->at, place->bits, (i ? of.b : of.a).is_signed(), wide);
  }
  bool negative = negated[0] != negated[1];
  if (plus_one && (negative || negated[2])) return std::nullopt;
  bool is_signed = of.a.is_signed() || of.b.is_signed() || negative || negated[2];
  Value* product = builder.CreateMul(in[0], in[1]);
  if (negative) product = builder.CreateNot(product);
  if (negated[2] && !negative) in[2] = builder.CreateNot(in[2]);
  Value* sum = builder.CreateAdd(product, builder.CreateIntCast(in[2], wide, is_signed));
  if (plus_one || negative || negated[2]) sum = builder.CreateAdd(sum, llvm::ConstantInt::get(wide, 1));
  sum = builder.CreateAShr(sum, scale);
  if (of.saturates) sum = limited(builder, sum, is_signed, 32);
  return PtxValues{builder.CreateTrunc(sum, word)};
}

// Of one part of each operand. With a third operand: what the result is added to or compared with, or the word of which
// it becomes a part.
PtxResult raise_one(PtxInstruction& instruction, const Video& of, StringRef second) {
  Builder& builder = of.builder;
  llvm::Type *word = builder.getInt32Ty(), *wide = builder.getInt64Ty();
  auto to = place_of(part_of(instruction, 0)), a = place_of(part_of(instruction, 1)),
       b = place_of(part_of(instruction, 2));
  size_t count = instruction.operands.size();
  if (!to || !a || !b || !part_of(instruction, 3).empty()) return std::nullopt;
  bool merges = to->bits < 32;
  if (count != (merges || !second.empty() ? 3u : 2u) || (merges && !second.empty())) return std::nullopt;
  auto part = [&](unsigned i, Place place, const PtxType& type) {
    return extract(builder, as_type(builder, instruction.operands[i], word), place.at, place.bits, type.is_signed(),
                   wide);
  };
  Value* value = compute(of, part(0, *a, of.a), part(1, *b, of.b));
  if (of.saturates) value = limited(builder, value, of.to.is_signed(), to->bits);
  if (!second.empty()) {
    Value* with = builder.CreateIntCast(as_type(builder, instruction.operands[2], word), wide, of.to.is_signed());
    value = second == "add"   ? builder.CreateAdd(value, with)
            : second == "min" ? builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, value, with)
                              : builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value, with);
  }
  value = builder.CreateTrunc(value, word);
  if (!merges) return PtxValues{value};
  uint32_t written = ((uint32_t{1} << to->bits) - 1) << to->at;
  Value* others = builder.CreateAnd(as_type(builder, instruction.operands[2], word), ~written);
  return PtxValues{builder.CreateOr(builder.CreateAnd(builder.CreateShl(value, to->at), written), others)};
}

}  // namespace

PtxResult raise_ptx_video(PtxInstruction& instruction) {
  PtxName& name = instruction.name;
  StringRef operation = name.operation();
  if (!operation.consume_front("v") || instruction.results != 1) return std::nullopt;
  unsigned bits = operation.consume_back("4") ? 8 : operation.consume_back("2") ? 16 : 32;
  bool known = llvm::is_contained({"add", "sub", "min", "max", "absdiff", "set"}, operation) ||
               (bits < 32 ? operation == "avrg" : llvm::is_contained({"shl", "shr", "mad"}, operation));
  if (!known) return std::nullopt;
  // vset's result has no type of its own in the name.
  bool sets = operation == "set";
  std::optional<PtxType> to = sets ? PtxType{PtxType::kUnsigned, 32, 1} : name.take_type();
  std::optional<PtxType> a = name.take_type(), b = name.take_type();
  if (!to || !a || !b) return std::nullopt;
  Video of{instruction.builder, operation, "", "", *to, *a, *b, name.take("sat")};
  if (sets) of.comparison = name.take_one_of({"eq", "ne", "lt", "le", "gt", "ge"});
  if (operation == "shl" || operation == "shr") of.shift = name.take_one_of({"clamp", "wrap"});
  if (sets && of.comparison.empty()) return std::nullopt;
  if (operation == "mad") {
    bool plus_one = name.take("po");
    StringRef scale = name.take_one_of({"shr7", "shr15"});
    if (!name.is_used_up()) return std::nullopt;
    return raise_product(instruction, of, plus_one, scale.empty() ? 0 : scale == "shr7" ? 7 : 15);
  }
  StringRef second = bits < 32 ? name.take_one_of({"add"}) : name.take_one_of({"add", "min", "max"});
  if (!name.is_used_up()) return std::nullopt;
  return bits < 32 ? raise_parts(instruction, of, bits, !second.empty()) : raise_one(instruction, of, second);
}

}  // namespace mneme::codegen::host
