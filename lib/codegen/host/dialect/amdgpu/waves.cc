// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMDGPU's wave operations. All that move values are the neutral permute, with the lane to take from worked out
// from the lane's own number.
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "codegen/host/dialect/amdgpu/intrinsics.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilderBase;

constexpr unsigned kRow = 16;
constexpr unsigned kSwizzled = 32;  // lanes that ds_swizzle moves among

uint64_t constant(const llvm::CallInst& call, unsigned operand) {
  return llvm::cast<llvm::ConstantInt>(call.getArgOperand(operand))->getZExtValue();
}

// An operation on values of one type, whatever it is, out of the same on the words they consist of.
Value* by_words(Builder& builder, llvm::ArrayRef<Value*> values,
                llvm::function_ref<Value*(llvm::ArrayRef<Value*>)> operation) {
  llvm::Type* type = values[0]->getType();
  const llvm::DataLayout& layout = builder.GetInsertBlock()->getModule()->getDataLayout();
  unsigned bits = static_cast<unsigned>(layout.getTypeSizeInBits(type).getFixedValue());
  unsigned word_bits = bits <= 32 ? 32 : 64;
  unsigned count = (bits + word_bits - 1) / word_bits;
  llvm::Type* word = builder.getIntNTy(word_bits);
  llvm::Type* whole = builder.getIntNTy(word_bits * count);
  llvm::Type* exact = builder.getIntNTy(bits);
  llvm::SmallVector<Value*, 2> integers;
  for (Value* value : values) {
    Value* integer = type->isPointerTy() ? builder.CreatePtrToInt(value, exact) : builder.CreateBitCast(value, exact);
    integers.push_back(builder.CreateZExt(integer, whole));
  }
  Value* result = llvm::ConstantInt::get(whole, 0);
  for (unsigned i = 0; i < count; ++i) {
    llvm::SmallVector<Value*, 2> words;
    for (Value* integer : integers) {
      words.push_back(builder.CreateTrunc(builder.CreateLShr(integer, uint64_t{i} * word_bits), word));
    }
    Value* moved = builder.CreateZExt(operation(words), whole);
    result = builder.CreateOr(result, builder.CreateShl(moved, uint64_t{i} * word_bits));
  }
  result = builder.CreateTrunc(result, exact);
  return type->isPointerTy() ? builder.CreateIntToPtr(result, type) : builder.CreateBitCast(result, type);
}

Value* permute(Builder& builder, Value* value, Value* otherwise, Value* lane) {
  return by_words(builder, {value, otherwise},
                  [&](llvm::ArrayRef<Value*> words) { return call_permute(builder, words[0], words[1], lane); });
}

Value* zero_of(Value* value) { return llvm::Constant::getNullValue(value->getType()); }

// Where a lane takes its value from, and whether there is such a lane.
struct Source {
  Value* lane;
  Value* exists;
};

// The source that DPP's control word gives; nothing for one that is not known.
std::optional<Source> dpp_source(Builder& builder, unsigned control, Value* lane, uint32_t wave_size) {
  Value* yes = builder.getTrue();
  Value* row = builder.CreateAnd(lane, ~(kRow - 1));
  Value* column = builder.CreateAnd(lane, kRow - 1);
  auto in_row = [&](Value* to) { return builder.CreateOr(row, builder.CreateAnd(to, kRow - 1)); };
  auto word = [&](uint32_t value) { return builder.getInt32(value); };
  uint32_t amount = control & (kRow - 1);
  switch (control & ~(kRow - 1)) {
    case 0x100:  // row_shl
      return Source{in_row(builder.CreateAdd(column, word(amount))),
                    builder.CreateICmpULT(column, word(kRow - amount))};
    case 0x110:  // row_shr
      return Source{in_row(builder.CreateSub(column, word(amount))), builder.CreateICmpUGE(column, word(amount))};
    case 0x120:  // row_ror
      return Source{in_row(builder.CreateSub(column, word(amount))), yes};
    case 0x150:  // row_share, or row_newbcast
      return Source{in_row(word(amount)), yes};
    case 0x160:  // row_xmask
      return Source{builder.CreateXor(lane, word(amount)), yes};
    default:
      break;
  }
  auto in_wave = [&](Value* to) { return builder.CreateAnd(to, wave_size - 1); };
  Value* next = in_wave(builder.CreateAdd(lane, word(1)));
  Value* last = in_wave(builder.CreateSub(lane, word(1)));
  switch (control) {
    case 0x130:  // wave_shl
      return Source{next, builder.CreateICmpNE(lane, word(wave_size - 1))};
    case 0x134:  // wave_rol
      return Source{next, yes};
    case 0x138:  // wave_shr
      return Source{last, builder.CreateICmpNE(lane, word(0))};
    case 0x13c:  // wave_ror
      return Source{last, yes};
    case 0x140:  // row_mirror
      return Source{builder.CreateXor(lane, kRow - 1), yes};
    case 0x141:  // row_half_mirror
      return Source{builder.CreateXor(lane, kRow / 2 - 1), yes};
    case 0x142:  // row_bcast:15
      return Source{in_wave(builder.CreateSub(row, word(1))), builder.CreateICmpUGE(lane, word(kRow))};
    case 0x143:  // row_bcast:31
      return Source{word(31), builder.CreateICmpUGE(lane, word(32))};
    default:
      break;
  }
  if (control > 0xff) return std::nullopt;
  Value* shift = builder.CreateShl(builder.CreateAnd(lane, 3), 1);  // quad_perm
  Value* chosen = builder.CreateAnd(builder.CreateLShr(word(control), shift), 3);
  return Source{builder.CreateOr(builder.CreateAnd(lane, ~3u), chosen), yes};
}

// `control`, `rows`, `banks`, `bound` stand in the call from `first` on.
Raised dpp(Builder& builder, llvm::CallInst& call, Value* old, Value* value, unsigned first, uint32_t wave_size) {
  Value* lane = lane_index(builder, wave_size);
  auto source = dpp_source(builder, static_cast<unsigned>(constant(call, first)), lane, wave_size);
  if (!source) return std::nullopt;
  uint32_t rows = constant(call, first + 1) & 15, banks = constant(call, first + 2) & 15;
  if (llvm::isa<llvm::UndefValue>(old)) old = zero_of(value);
  Value* otherwise = constant(call, first + 3) ? zero_of(value) : old;
  Value* moved = permute(builder, value, otherwise, source->lane);
  moved = builder.CreateSelect(source->exists, moved, otherwise);
  auto enabled = [&](uint32_t mask, Value* index) {
    return builder.CreateTrunc(builder.CreateLShr(builder.getInt32(mask), index), builder.getInt1Ty());
  };
  if (rows != 15) moved = builder.CreateSelect(enabled(rows, builder.CreateLShr(lane, 4)), moved, old);
  if (banks != 15) {
    moved = builder.CreateSelect(enabled(banks, builder.CreateAnd(builder.CreateLShr(lane, 2), 3)), moved, old);
  }
  return moved;
}

// A lane of the same eight: three bits for each.
Value* dpp8_source(Builder& builder, uint32_t selectors, Value* lane) {
  Value* shift = builder.CreateMul(builder.CreateAnd(lane, 7), builder.getInt32(3));
  Value* chosen = builder.CreateAnd(builder.CreateLShr(builder.getInt32(selectors), shift), 7);
  return builder.CreateOr(builder.CreateAnd(lane, ~7u), chosen);
}

Value* swizzle_source(Builder& builder, uint32_t pattern, Value* lane) {
  Value* group = builder.CreateAnd(lane, ~(kSwizzled - 1));
  Value* inside = builder.CreateAnd(lane, kSwizzled - 1);
  uint32_t keep = pattern & 31;
  Value* to = nullptr;
  if (pattern >= 0xe000) {  // as a Fourier transform wants it
    to = llvm::ConstantInt::get(lane->getType(), 0);
    for (unsigned bit = 0; bit < 5; ++bit) {
      Value* one = builder.CreateAnd(builder.CreateLShr(inside, bit), 1);
      to = builder.CreateOr(to, builder.CreateShl(one, 4 - bit));
    }
    to = builder.CreateLShr(to, static_cast<uint64_t>(__builtin_popcount(keep)));
    to = builder.CreateOr(to, builder.CreateAnd(inside, keep));
  } else if (pattern >= 0xc000) {  // rotated, but for the bits to keep
    uint32_t amount = (pattern >> 5) & 31;
    if (pattern & 0x400) amount = kSwizzled - amount;
    Value* turned = builder.CreateAdd(inside, builder.getInt32(amount));
    to = builder.CreateOr(builder.CreateAnd(inside, keep), builder.CreateAnd(turned, ~keep & 31));
  } else if (pattern & 0x8000) {  // within four
    Value* shift = builder.CreateShl(builder.CreateAnd(lane, 3), 1);
    Value* chosen = builder.CreateAnd(builder.CreateLShr(builder.getInt32(pattern & 0xff), shift), 3);
    to = builder.CreateOr(builder.CreateAnd(inside, ~3u), chosen);
  } else {  // and, or, exclusive or
    to = builder.CreateOr(builder.CreateAnd(inside, keep), (pattern >> 5) & 31);
    to = builder.CreateXor(to, (pattern >> 10) & 31);
  }
  return builder.CreateOr(group, builder.CreateAnd(to, kSwizzled - 1));
}

// ds_permute: each lane sends its value to another; of several that send to one, the highest is received. Who that
// is shows in six ballots, one for each bit of where they send to.
Value* push(Builder& builder, Value* target, Value* value, uint32_t wave_size) {
  Value* lane = builder.CreateZExt(lane_index(builder, wave_size), builder.getInt64Ty());
  Value* senders = active_lanes(builder);
  for (unsigned bit = 0; 1u << bit < wave_size; ++bit) {
    Value* mine = builder.CreateTrunc(builder.CreateLShr(lane, bit), builder.getInt1Ty());
    Value* theirs = call_ballot(builder, builder.CreateTrunc(builder.CreateLShr(target, bit), builder.getInt1Ty()));
    senders = builder.CreateAnd(senders, builder.CreateSelect(mine, theirs, builder.CreateNot(theirs)));
  }
  Value* none = builder.CreateIsNull(senders);
  Value* leading = builder.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, senders, builder.getFalse());
  Value* highest = builder.CreateTrunc(builder.CreateSub(builder.getInt64(63), leading), builder.getInt32Ty());
  Value* sent = call_permute(builder, value, zero_of(value), builder.CreateAnd(highest, wave_size - 1));
  return builder.CreateSelect(none, zero_of(value), sent);
}

// permlane16: any lane of the row; permlanex16: of the row beside it. Four bits choose for each.
Value* permlane16(Builder& builder, llvm::CallInst& call, bool other_row, uint32_t wave_size) {
  Value *old = call.getArgOperand(0), *value = call.getArgOperand(1);
  Value* lane = lane_index(builder, wave_size);
  llvm::Type* wide = builder.getInt64Ty();
  Value* low = builder.CreateZExt(call.getArgOperand(2), wide);
  Value* selectors = builder.CreateOr(low, builder.CreateShl(builder.CreateZExt(call.getArgOperand(3), wide), 32));
  Value* shift = builder.CreateZExt(builder.CreateShl(builder.CreateAnd(lane, kRow - 1), 2), wide);
  Value* chosen = builder.CreateTrunc(builder.CreateLShr(selectors, shift), builder.getInt32Ty());
  Value* row = builder.CreateAnd(lane, ~(kRow - 1));
  if (other_row) row = builder.CreateXor(row, kRow);
  Value* from = builder.CreateOr(row, builder.CreateAnd(chosen, kRow - 1));
  if (llvm::isa<llvm::UndefValue>(old)) old = zero_of(value);
  bool bound = llvm::cast<llvm::ConstantInt>(call.getArgOperand(5))->isOne();
  return permute(builder, value, bound ? zero_of(value) : old, from);
}

// mbcnt.lo and mbcnt.hi count a half each. (Both of all lanes are wave_functions.cc's.)
Value* count_half_below(Builder& builder, llvm::CallInst& call, bool high, uint32_t wave_size) {
  Value *mask = call.getArgOperand(0), *base = call.getArgOperand(1);
  auto* all = llvm::dyn_cast<llvm::ConstantInt>(mask);
  if (all && all->isMinusOne() && !high && wave_size == 32) return builder.CreateAdd(base, lane_index(builder, 32));
  Value* wide = builder.CreateZExt(mask, builder.getInt64Ty());
  if (high) wide = builder.CreateShl(wide, 32);
  return builder.CreateAdd(base, count_below(builder, wide, wave_size));
}

// A ballot as the intrinsic's type has it: 32 lanes or 64.
Value* ballot(Builder& builder, Value* condition, llvm::Type* type) {
  return builder.CreateZExtOrTrunc(call_ballot(builder, condition), type);
}

Raised compare(Builder& builder, llvm::CallInst& call) {
  auto predicate = static_cast<llvm::CmpInst::Predicate>(constant(call, 2));
  if (!llvm::CmpInst::isIntPredicate(predicate) && !llvm::CmpInst::isFPPredicate(predicate)) return std::nullopt;
  return ballot(builder, builder.CreateCmp(predicate, call.getArgOperand(0), call.getArgOperand(1)), call.getType());
}

// The least or greatest of what the lanes here have, for each. In every round a lane takes in what the next one that
// it has not heard from has gathered; the lowest has then heard from all.
Value* reduce(Builder& builder, Value* value, llvm::Intrinsic::ID operation, uint32_t wave_size) {
  Value* lanes = active_lanes(builder);
  Value* lane = builder.CreateZExt(lane_index(builder, wave_size), builder.getInt64Ty());
  Value* above = builder.CreateAnd(lanes, builder.CreateShl(builder.getInt64(~uint64_t{1}), lane));
  Value* first = builder.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, above, builder.getFalse());
  Value* none = builder.getInt32(64);
  Value* next = builder.CreateTrunc(first, builder.getInt32Ty());
  for (unsigned heard = 1; heard < wave_size; heard *= 2) {
    Value* known = builder.CreateICmpNE(next, none);
    Value* from = builder.CreateAnd(next, wave_size - 1);
    Value* theirs = permute(builder, value, value, from);
    Value* after = call_permute(builder, next, none, from);
    value = builder.CreateBinaryIntrinsic(operation, value, builder.CreateSelect(known, theirs, value));
    next = builder.CreateSelect(known, after, none);
  }
  return by_words(builder, {value}, [&](llvm::ArrayRef<Value*> words) { return call_first(builder, words[0]); });
}

}  // namespace

llvm::Value* active_lanes(Builder& builder) { return call_ballot(builder, builder.getTrue()); }

llvm::Value* count_below(Builder& builder, Value* mask, uint32_t wave_size) {
  Value* lane = builder.CreateZExt(lane_index(builder, wave_size), builder.getInt64Ty());
  Value* below = builder.CreateNot(builder.CreateShl(builder.getInt64(~uint64_t{0}), lane));
  Value* count = builder.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, builder.CreateAnd(mask, below));
  return builder.CreateTrunc(count, builder.getInt32Ty());
}

Raised raise_wave_intrinsic(Builder& builder, llvm::CallInst& call, uint32_t wave_size) {
  auto operand = [&](unsigned i) { return call.getArgOperand(i); };
  auto lane = [&] { return lane_index(builder, wave_size); };
  auto in_wave = [&](Value* index) { return builder.CreateAnd(index, wave_size - 1); };
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::amdgcn_ds_bpermute: {
      Value* from = in_wave(builder.CreateLShr(operand(0), 2));
      Value* value = call_permute(builder, operand(1), zero_of(operand(1)), from);
      mark_undefined_elsewhere(value);
      return value;
    }
    case llvm::Intrinsic::amdgcn_ds_permute:
      return push(builder, builder.CreateLShr(operand(0), 2), operand(1), wave_size);
    case llvm::Intrinsic::amdgcn_ds_swizzle:
      return permute(builder, operand(0), zero_of(operand(0)),
                     swizzle_source(builder, constant(call, 1) & 0xffff, lane()));
    case llvm::Intrinsic::amdgcn_update_dpp:
      return dpp(builder, call, operand(0), operand(1), 2, wave_size);
    case llvm::Intrinsic::amdgcn_mov_dpp:
      return dpp(builder, call, llvm::PoisonValue::get(call.getType()), operand(0), 1, wave_size);
    case llvm::Intrinsic::amdgcn_mov_dpp8:
      return permute(builder, operand(0), zero_of(operand(0)),
                     dpp8_source(builder, static_cast<uint32_t>(constant(call, 1)), lane()));
    case llvm::Intrinsic::amdgcn_permlane16:
      return permlane16(builder, call, false, wave_size);
    case llvm::Intrinsic::amdgcn_permlanex16:
      return permlane16(builder, call, true, wave_size);
    case llvm::Intrinsic::amdgcn_permlane64:
      if (wave_size == 32) return operand(0);
      return permute(builder, operand(0), zero_of(operand(0)), builder.CreateXor(lane(), 32));

    // What a lane that is not here last held is not known: one's own value stands in.
    case llvm::Intrinsic::amdgcn_readlane:
      return permute(builder, operand(0), operand(0), in_wave(operand(1)));
    case llvm::Intrinsic::amdgcn_readfirstlane:
      return by_words(builder, {operand(0)},
                      [&](llvm::ArrayRef<Value*> words) { return call_first(builder, words[0]); });
    case llvm::Intrinsic::amdgcn_writelane:
      return builder.CreateSelect(builder.CreateICmpEQ(lane(), in_wave(operand(1))), operand(0), operand(2));

    case llvm::Intrinsic::amdgcn_mbcnt_lo:
      return count_half_below(builder, call, false, wave_size);
    case llvm::Intrinsic::amdgcn_mbcnt_hi:
      return count_half_below(builder, call, true, wave_size);
    case llvm::Intrinsic::amdgcn_icmp:
    case llvm::Intrinsic::amdgcn_fcmp:
      return compare(builder, call);
    case llvm::Intrinsic::amdgcn_ballot:
      return ballot(builder, operand(0), call.getType());
    case llvm::Intrinsic::amdgcn_inverse_ballot: {
      Value* bit = builder.CreateZExtOrTrunc(lane(), operand(0)->getType());
      return builder.CreateTrunc(builder.CreateLShr(operand(0), bit), builder.getInt1Ty());
    }
    case llvm::Intrinsic::read_register: {
      // Of the registers that can be named this way, the one that tells which lanes are here.
      auto* name = llvm::cast<llvm::MDNode>(llvm::cast<llvm::MetadataAsValue>(operand(0))->getMetadata());
      llvm::StringRef text = llvm::cast<llvm::MDString>(name->getOperand(0))->getString();
      if (text != "exec" && text != "exec_lo" && text != "exec_hi") return std::nullopt;
      Value* lanes = active_lanes(builder);
      if (text == "exec_hi") lanes = builder.CreateLShr(lanes, 32);
      return builder.CreateZExtOrTrunc(lanes, call.getType());
    }

    case llvm::Intrinsic::amdgcn_wave_reduce_umin:
      return reduce(builder, operand(0), llvm::Intrinsic::umin, wave_size);
    case llvm::Intrinsic::amdgcn_wave_reduce_umax:
      return reduce(builder, operand(0), llvm::Intrinsic::umax, wave_size);

    // "Whole" modes let lanes that are not here compute along. None does so here, and what is read from them is what
    // the operations that read them say.
    case llvm::Intrinsic::amdgcn_set_inactive:
    case llvm::Intrinsic::amdgcn_wqm:
    case llvm::Intrinsic::amdgcn_softwqm:
    case llvm::Intrinsic::amdgcn_strict_wqm:
    case llvm::Intrinsic::amdgcn_wwm:
    case llvm::Intrinsic::amdgcn_strict_wwm:
      return operand(0);

    case llvm::Intrinsic::amdgcn_wave_barrier:
      call_wave_sync(builder);
      return nullptr;
    default:
      return std::nullopt;
  }
}

}  // namespace mneme::codegen::host
