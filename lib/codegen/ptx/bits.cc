// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX's instructions on bits, and moves.
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Intrinsics.h>

#include "codegen/ptx/instruction.h"

namespace mneme::codegen::ptx {
namespace {

using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;
using Operands = llvm::ArrayRef<Value*>;

Value* constant(Value* like, uint64_t value) { return llvm::ConstantInt::get(like->getType(), value); }
unsigned bits_of(Value* x) { return x->getType()->getIntegerBitWidth(); }

// Shifted by an amount that may exceed the width, of which then nothing but signs is left.
Value* shift(Builder& builder, StringRef operation, Value* x, Value* amount, bool is_signed) {
  unsigned bits = bits_of(x);
  Value* wide = builder.CreateZExtOrTrunc(as_type(builder, amount, builder.getInt32Ty()), builder.getInt64Ty());
  Value* within = builder.CreateICmpULT(wide, builder.getInt64(bits));
  Value* places = builder.CreateIntCast(wide, x->getType(), false);
  if (operation == "shr" && is_signed) {
    return builder.CreateAShr(x, builder.CreateSelect(within, places, constant(x, bits - 1)));
  }
  places = builder.CreateSelect(within, places, constant(x, 0));
  Value* shifted = operation == "shl" ? builder.CreateShl(x, places) : builder.CreateLShr(x, places);
  return builder.CreateSelect(within, shifted, constant(x, 0));
}

// Bits [position, position + length) of x, both taken from a byte; beyond the end, zeros or signs.
Value* extract_field(Builder& builder, Operands in, bool is_signed) {
  Value* x = in[0];
  unsigned bits = bits_of(x);
  Value* position = builder.CreateAnd(as_type(builder, in[1], builder.getInt32Ty()), 255);
  Value* length = builder.CreateAnd(as_type(builder, in[2], builder.getInt32Ty()), 255);
  Value* moved = shift(builder, "shr", x, position, is_signed);
  Value* limit = builder.getInt32(bits);
  Value* spare = builder.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, limit, length);
  Value* field = shift(builder, "shr", shift(builder, "shl", moved, spare, false), spare, is_signed);
  return builder.CreateSelect(builder.CreateIsNull(length), constant(x, 0), field);
}

// y with its bits [position, position + length) taken from x's lowest.
Value* insert_field(Builder& builder, Operands in) {
  Value *x = in[0], *y = in[1];
  Value* position = builder.CreateAnd(as_type(builder, in[2], builder.getInt32Ty()), 255);
  Value* length = builder.CreateAnd(as_type(builder, in[3], builder.getInt32Ty()), 255);
  Value* low = builder.CreateNot(shift(builder, "shl", llvm::Constant::getAllOnesValue(x->getType()), length, false));
  Value* mask = shift(builder, "shl", low, position, false);
  Value* moved = shift(builder, "shl", x, position, false);
  return builder.CreateOr(builder.CreateAnd(moved, mask), builder.CreateAnd(y, builder.CreateNot(mask)));
}

// bmsk, szext: a mask of some bits from a place on; a number's lowest bits, extended. Places beyond the end count as
// the end (clamp), or from the beginning again (wrap).
PtxResult mask_or_extend(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  bool masks = name.operation() == "bmsk";
  StringRef end = name.take_one_of({"clamp", "wrap"});
  std::optional<PtxType> type = name.take_type();
  if (end.empty() || !type || type->bits != 32 || !name.is_used_up() || instruction.operands.size() != 2) {
    return std::nullopt;
  }
  auto place = [&](Value* operand) {
    Value* number = as_type(builder, operand, builder.getInt32Ty());
    return end == "wrap" ? builder.CreateAnd(number, 31)
                         : builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, number, builder.getInt32(32));
  };
  Value* second = place(instruction.operands[1]);
  if (!masks) {
    Value* x = as_type(builder, instruction.operands[0], builder.getInt32Ty());
    return PtxValues{extract_field(builder, {x, builder.getInt32(0), second}, type->is_signed())};
  }
  Value *ones = builder.getInt32(UINT32_MAX), *first = place(instruction.operands[0]);
  Value* from = shift(builder, "shl", ones, first, false);
  Value* behind = shift(builder, "shl", ones, builder.CreateAdd(first, second), false);
  return PtxValues{builder.CreateAnd(from, builder.CreateNot(behind))};
}

// The place of the highest bit unlike the sign; or how far to shift for it to come to the top. All ones: there is none.
Value* find_leading(Builder& builder, Value* x, bool is_signed, bool as_shift) {
  unsigned bits = bits_of(x);
  if (is_signed) x = builder.CreateXor(x, builder.CreateAShr(x, bits - 1));
  Value* zeros = builder.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, x, builder.getFalse());
  Value* place = as_shift ? zeros : builder.CreateSub(constant(x, bits - 1), zeros);
  Value* result = builder.CreateTrunc(place, builder.getInt32Ty());
  return builder.CreateSelect(builder.CreateIsNull(x), builder.getInt32(UINT32_MAX), result);
}

// Which of the eight bytes of two words: a selector in four bits for each, whose top bit asks for its sign instead.
Value* permute_bytes(Builder& builder, StringRef mode, Operands in) {
  llvm::Type *word = builder.getInt32Ty(), *wide = builder.getInt64Ty();
  Value* high = builder.CreateShl(builder.CreateZExt(as_type(builder, in[1], word), wide), 32);
  Value* bytes = builder.CreateOr(high, builder.CreateZExt(as_type(builder, in[0], word), wide));
  Value* selectors = as_type(builder, in[2], word);
  Value* lowest = builder.CreateAnd(selectors, 3);
  Value* result = builder.getInt32(0);
  for (unsigned i = 0; i < 4; ++i) {
    auto at = [&](unsigned n) { return builder.getInt32(n); };
    Value* selector = nullptr;
    if (mode.empty()) {
      selector = builder.CreateAnd(builder.CreateLShr(selectors, 4 * i), 15);
    } else if (mode == "f4e") {
      selector = builder.CreateAdd(lowest, at(i));
    } else if (mode == "b4e") {
      selector = builder.CreateAnd(builder.CreateSub(lowest, at(i)), 7);
    } else if (mode == "rc8") {
      selector = lowest;
    } else if (mode == "rc16") {
      selector = builder.CreateOr(builder.CreateShl(builder.CreateAnd(lowest, 1), 1), at(i & 1));
    } else if (mode == "ecl") {
      selector = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umax, lowest, at(i));
    } else {  // ecr
      selector = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, lowest, at(i));
    }
    Value* places = builder.CreateShl(builder.CreateZExt(builder.CreateAnd(selector, 7), wide), 3);
    Value* byte = builder.CreateTrunc(builder.CreateLShr(bytes, places), builder.getInt8Ty());
    Value* sign = builder.CreateAShr(byte, 7);
    byte = builder.CreateSelect(builder.CreateICmpUGE(selector, at(8)), sign, byte);
    result = builder.CreateOr(result, builder.CreateShl(builder.CreateZExt(byte, word), 8 * i));
  }
  return result;
}

// Any function of three bits: `table` has its value where they are 2^2 a + 2 b + c.
Value* logic_of_three(Builder& builder, Operands in, uint64_t table) {
  Value* result = constant(in[0], 0);
  for (unsigned i = 0; i < 8; ++i) {
    if (!(table >> i & 1)) continue;
    Value* term = llvm::Constant::getAllOnesValue(in[0]->getType());
    for (unsigned j = 0; j < 3; ++j) {
      term = builder.CreateAnd(term, i >> (2 - j) & 1 ? in[j] : builder.CreateNot(in[j]));
    }
    result = builder.CreateOr(result, term);
  }
  return result;
}

// shf: two words, the first the lower, shifted by an amount that wraps or ends at 32.
Value* funnel(Builder& builder, bool left, bool wraps, Operands in) {
  llvm::Type *word = builder.getInt32Ty(), *wide = builder.getInt64Ty();
  Value* low = builder.CreateZExt(as_type(builder, in[0], word), wide);
  Value* whole = builder.CreateOr(low, builder.CreateShl(builder.CreateZExt(as_type(builder, in[1], word), wide), 32));
  Value* amount = as_type(builder, in[2], word);
  amount = wraps ? builder.CreateAnd(amount, 31)
                 : builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, amount, builder.getInt32(32));
  amount = builder.CreateZExt(amount, wide);
  Value* shifted = left ? builder.CreateLShr(builder.CreateShl(whole, amount), 32) : builder.CreateLShr(whole, amount);
  return builder.CreateTrunc(shifted, word);
}

// The pieces of a register, the lowest first.
PtxValues take_apart(Builder& builder, Value* whole, unsigned count) {
  unsigned bits = bits_of(whole) / count;
  PtxValues pieces;
  for (unsigned i = 0; i < count; ++i) {
    pieces.push_back(builder.CreateTrunc(builder.CreateLShr(whole, uint64_t{i} * bits), builder.getIntNTy(bits)));
  }
  return pieces;
}

PtxResult move(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  std::optional<PtxType> type = instruction.name.take_type();
  if (!type || !instruction.name.is_used_up() || instruction.operands.size() != 1) return std::nullopt;
  Value* value = instruction.operands[0];
  if (instruction.results == 1)
    return PtxValues{value->getType()->isPointerTy() ? value : as_type(builder, value, *type)};
  if (type->bits % instruction.results) return std::nullopt;
  return take_apart(builder, as_type(builder, value, builder.getIntNTy(type->bits)), instruction.results);
}

std::optional<uint64_t> known(Value* value) {
  auto* number = llvm::dyn_cast<llvm::ConstantInt>(value);
  return number ? std::optional(number->getZExtValue()) : std::nullopt;
}

// lop3.and.b32 r|p, a, b, c, table, q: also whether the result is not zero, and q.
PtxResult logic_with_predicate(PtxInstruction& instruction, bool both) {
  Builder& builder = instruction.builder;
  Operands given = instruction.operands;
  std::optional<uint64_t> table = given.size() == 5 ? known(given[3]) : std::nullopt;
  if (!table || !instruction.name.take("b32") || !instruction.name.is_used_up()) return std::nullopt;
  llvm::SmallVector<Value*, 3> in;
  for (Value* value : given.take_front(3)) in.push_back(as_type(builder, value, builder.getInt32Ty()));
  Value *word = logic_of_three(builder, in, *table), *holds = builder.CreateIsNotNull(word);
  Value* q = as_type(builder, given[4], builder.getInt1Ty());
  holds = both ? builder.CreateAnd(holds, q) : builder.CreateOr(holds, q);
  return instruction.results == 2 ? PtxValues{word, holds} : PtxValues{word};
}

}  // namespace

PtxResult raise_ptx_bits(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  StringRef operation = name.operation();
  if (operation == "mov") return move(instruction);
  if (operation == "lop3") {
    StringRef with = name.take_one_of({"and", "or"});
    if (!with.empty()) return logic_with_predicate(instruction, with == "and");
  }
  if (instruction.results != 1) return std::nullopt;
  Operands given = instruction.operands;
  if (operation == "prmt" && given.size() == 3 && name.take("b32")) {
    StringRef mode = name.take_one_of({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
    return name.is_used_up() ? PtxResult(PtxValues{permute_bytes(builder, mode, given)}) : std::nullopt;
  }
  if (operation == "bmsk" || operation == "szext") return mask_or_extend(instruction);
  if (operation == "shf" && given.size() == 3 && name.take("b32")) {
    StringRef side = name.take_one_of({"l", "r"}), end = name.take_one_of({"wrap", "clamp"});
    if (side.empty() || end.empty() || !name.is_used_up()) return std::nullopt;
    return PtxValues{funnel(builder, side == "l", end == "wrap", given)};
  }
  unsigned count = llvm::StringSwitch<unsigned>(operation)
                       .Cases("and", "or", "xor", "shl", "shr", 2)
                       .Cases("not", "cnot", "popc", "clz", "brev", "bfind", 1)
                       .Case("bfe", 3)
                       .Cases("bfi", "lop3", 4)
                       .Default(0);
  if (count == 0 || given.size() != count) return std::nullopt;
  bool as_shift = operation == "bfind" && name.take("shiftamt");
  std::optional<PtxType> type = name.take_type();
  if (!type || type->is_floating() || type->lanes != 1 || !name.is_used_up()) return std::nullopt;

  llvm::SmallVector<Value*, 4> in;
  for (Value* value : given) in.push_back(as_type(builder, value, *type));
  auto give = [](Value* value) { return PtxResult(PtxValues{value}); };
  auto word = [&](Value* value) { return builder.CreateTrunc(value, builder.getInt32Ty()); };
  if (operation == "and") return give(builder.CreateAnd(in[0], in[1]));
  if (operation == "or") return give(builder.CreateOr(in[0], in[1]));
  if (operation == "xor") return give(builder.CreateXor(in[0], in[1]));
  if (operation == "not") return give(builder.CreateNot(in[0]));
  if (operation == "cnot") return give(builder.CreateZExt(builder.CreateIsNull(in[0]), in[0]->getType()));
  if (operation == "shl" || operation == "shr") {
    return give(shift(builder, operation, in[0], given[1], type->is_signed()));
  }
  if (operation == "popc") return give(word(builder.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, in[0])));
  if (operation == "clz") {
    return give(word(builder.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, in[0], builder.getFalse())));
  }
  if (operation == "brev") return give(builder.CreateUnaryIntrinsic(llvm::Intrinsic::bitreverse, in[0]));
  if (operation == "bfind") return give(find_leading(builder, in[0], type->is_signed(), as_shift));
  if (operation == "bfe") return give(extract_field(builder, {in[0], given[1], given[2]}, type->is_signed()));
  if (operation == "bfi") return give(insert_field(builder, {in[0], in[1], given[2], given[3]}));
  std::optional<uint64_t> table = known(given[3]);  // lop3
  return table ? give(logic_of_three(builder, in, *table)) : std::nullopt;
}

}  // namespace mneme::codegen::ptx
