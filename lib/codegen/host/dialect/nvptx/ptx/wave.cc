// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX's instructions in which the lanes of a warp meet: by the neutral wave operations. The mask of a .sync
// instruction is of lanes that meet there; several masks may meet at one instruction, each its own lanes.
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "codegen/host/dialect/nvptx/ptx/ptx.h"
#include "codegen/host/dialect/nvptx/ptx/waves.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;

Value* lane_of(Builder& builder) { return lane_index(builder, kWarpSize); }

Value* ballot(Builder& builder, Value* condition) {
  return builder.CreateTrunc(call_ballot(builder, condition), builder.getInt32Ty());
}

Value* in_warp(Builder& builder, Value* lane) { return builder.CreateAnd(lane, kWarpSize - 1); }

// The lowest lane of a mask, 32 if there is none.
Value* lowest(Builder& builder, Value* mask) {
  return builder.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, mask, builder.getFalse());
}

// permute, of 32 bits or 64.
Value* from_lane(Builder& builder, Value* value, Value* lane) {
  return call_permute(builder, value, value, in_warp(builder, lane));
}

PtxResult raise_shuffle(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  bool sync = name.take("sync");
  StringRef mode = name.take_one_of({"idx", "up", "down", "bfly"});
  if (mode.empty() || !name.take("b32") || !name.is_used_up()) return std::nullopt;
  if (instruction.operands.size() != (sync ? 4u : 3u) || instruction.results > 2) return std::nullopt;
  auto kind = llvm::StringSwitch<Shuffle>(mode)
                  .Case("idx", Shuffle::kIndex)
                  .Case("up", Shuffle::kUp)
                  .Case("down", Shuffle::kDown)
                  .Default(Shuffle::kButterfly);
  llvm::Type* word = builder.getInt32Ty();
  auto [value, exists] =
      shuffle(builder, kind, as_type(builder, instruction.operands[0], word),
              as_type(builder, instruction.operands[1], word), as_type(builder, instruction.operands[2], word));
  if (instruction.results == 1) return PtxValues{value};
  return PtxValues{value, exists};
}

PtxResult raise_vote(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  bool sync = name.take("sync");
  StringRef kind = name.take_one_of({"all", "any", "uni", "ballot"});
  bool known = name.take(kind == "ballot" ? "b32" : "pred") && name.is_used_up() && instruction.results == 1;
  if (kind.empty() || !known || instruction.operands.size() != (sync ? 2u : 1u)) return std::nullopt;
  Value* condition = as_type(builder, instruction.operands[0], builder.getInt1Ty());
  Value* mask = sync ? as_type(builder, instruction.operands[1], builder.getInt32Ty()) : builder.getInt32(UINT32_MAX);
  if (kind == "ballot") return PtxValues{vote_ballot(builder, mask, condition)};
  if (kind == "any") return PtxValues{vote_any(builder, mask, condition)};
  return PtxValues{kind == "all" ? vote_all(builder, mask, condition) : vote_uniform(builder, mask, condition)};
}

PtxResult raise_match(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  StringRef kind = name.take_one_of({"any", "all"});
  bool sync = name.take("sync");
  std::optional<PtxType> type = name.take_type();
  bool known = sync && type && type->bits >= 32 && type->bits <= 64 && name.is_used_up();
  if (kind.empty() || !known || instruction.operands.size() != 2) return std::nullopt;
  Value* value = as_type(builder, instruction.operands[0], builder.getIntNTy(type->bits));
  Value* mask = as_type(builder, instruction.operands[1], builder.getInt32Ty());
  if (kind == "any") {
    return instruction.results == 1 ? PtxResult(PtxValues{match_any(builder, mask, value)}) : std::nullopt;
  }
  auto [lanes, same] = match_all(builder, mask, value);
  if (instruction.results == 1) return PtxValues{lanes};
  return PtxValues{lanes, same};
}

PtxResult raise_redux(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  bool sync = name.take("sync");
  StringRef operation = name.take_one_of({"add", "and", "or", "xor", "min", "max"});
  std::optional<PtxType> type = name.take_type();
  bool known = sync && type && type->bits == 32 && !type->is_floating() && name.is_used_up();
  if (operation.empty() || !known || instruction.operands.size() != 2 || instruction.results != 1) return std::nullopt;
  Value* value = as_type(builder, instruction.operands[0], builder.getInt32Ty());
  Value* mask = as_type(builder, instruction.operands[1], builder.getInt32Ty());
  return PtxValues{reduce_warp(builder, mask, value, [&](Value* a, Value* b) -> Value* {
    if (operation == "add") return builder.CreateAdd(a, b);
    if (operation == "and") return builder.CreateAnd(a, b);
    if (operation == "or") return builder.CreateOr(a, b);
    if (operation == "xor") return builder.CreateXor(a, b);
    auto less = type->is_signed() ? llvm::Intrinsic::smin : llvm::Intrinsic::umin;
    auto greater = type->is_signed() ? llvm::Intrinsic::smax : llvm::Intrinsic::umax;
    return builder.CreateBinaryIntrinsic(operation == "min" ? less : greater, a, b);
  })};
}

// The lowest lane of the mask is it.
PtxResult raise_elect(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  if (!instruction.name.take("sync") || !instruction.name.is_used_up() || instruction.operands.size() != 1) {
    return std::nullopt;
  }
  call_wave_sync(builder);
  Value* leader = lowest(builder, as_type(builder, instruction.operands[0], builder.getInt32Ty()));
  Value* chosen = builder.CreateICmpEQ(leader, lane_of(builder));
  if (instruction.results == 1) return PtxValues{leader};
  return PtxValues{leader, chosen};
}

}  // namespace

Value* lanes_here(Builder& builder) { return ballot(builder, builder.getTrue()); }

std::pair<Value*, Value*> shuffle(Builder& builder, Shuffle mode, Value* value, Value* from, Value* clamp) {
  Value* lane = lane_of(builder);
  Value* amount = in_warp(builder, from);
  Value* segment = in_warp(builder, builder.CreateLShr(clamp, 8));
  Value* rest = builder.CreateAnd(builder.CreateNot(segment), kWarpSize - 1);
  Value* first = builder.CreateAnd(lane, segment);
  Value* last = builder.CreateOr(first, builder.CreateAnd(clamp, rest));
  Value *source = nullptr, *exists = nullptr;
  switch (mode) {
    case Shuffle::kIndex:
      source = builder.CreateOr(first, builder.CreateAnd(amount, rest));
      exists = builder.CreateICmpSLE(source, last);
      break;
    case Shuffle::kUp:
      source = builder.CreateSub(lane, amount);
      exists = builder.CreateICmpSGE(source, last);
      break;
    case Shuffle::kDown:
      source = builder.CreateAdd(lane, amount);
      exists = builder.CreateICmpSLE(source, last);
      break;
    case Shuffle::kButterfly:
      source = builder.CreateXor(lane, amount);
      exists = builder.CreateICmpSLE(source, last);
      break;
  }
  source = builder.CreateSelect(exists, source, lane);
  Value* moved = from_lane(builder, value, source);
  mark_undefined_elsewhere(moved);
  return {moved, exists};
}

Value* vote_ballot(Builder& builder, Value* mask, Value* condition) {
  return builder.CreateAnd(ballot(builder, condition), mask);
}

Value* vote_any(Builder& builder, Value* mask, Value* condition) {
  return builder.CreateIsNotNull(vote_ballot(builder, mask, condition));
}

Value* vote_all(Builder& builder, Value* mask, Value* condition) {
  return builder.CreateIsNull(vote_ballot(builder, mask, builder.CreateNot(condition)));
}

Value* vote_uniform(Builder& builder, Value* mask, Value* condition) {
  Value* some = vote_ballot(builder, mask, condition);
  Value* others = vote_ballot(builder, mask, builder.CreateNot(condition));
  return builder.CreateOr(builder.CreateIsNull(some), builder.CreateIsNull(others));
}

// Each time round, the lanes with the first one's value go.
Value* match_any(Builder& builder, Value* mask, Value* value) {
  llvm::Instruction* place = &*builder.GetInsertPoint();
  llvm::BasicBlock* before = place->getParent();
  llvm::BasicBlock* after = llvm::SplitBlock(before, place);
  llvm::BasicBlock* round = llvm::BasicBlock::Create(builder.getContext(), "match", before->getParent(), after);
  before->getTerminator()->setSuccessor(0, round);
  builder.SetInsertPoint(round);
  Value* same = builder.CreateICmpEQ(value, call_first(builder, value));
  Value* lanes = vote_ballot(builder, mask, same);
  builder.CreateCondBr(same, after, round);
  builder.SetInsertPoint(place);
  return lanes;
}

std::pair<Value*, Value*> match_all(Builder& builder, Value* mask, Value* value) {
  Value* theirs = from_lane(builder, value, lowest(builder, mask));
  Value* same = vote_all(builder, mask, builder.CreateICmpEQ(value, theirs));
  return {builder.CreateSelect(same, mask, builder.getInt32(0)), same};
}

// In every round a lane takes in what the next one that it has not heard from has gathered; the lowest has then heard
// from all, and tells. A loop, for each place in which lanes meet costs time to compile.
Value* reduce_warp(Builder& builder, Value* mask, Value* value, llvm::function_ref<Value*(Value*, Value*)> operation) {
  Value* lanes = builder.CreateAnd(lanes_here(builder), mask);
  Value* none = builder.getInt32(kWarpSize);
  // Above lane 31 there is none, and no shift by 32.
  Value* above = builder.CreateShl(builder.getInt32(~1u), lane_of(builder));
  Value* first = lowest(builder, builder.CreateAnd(lanes, above));

  llvm::Instruction* place = &*builder.GetInsertPoint();
  llvm::BasicBlock* before = place->getParent();
  llvm::BasicBlock* after = llvm::SplitBlock(before, place);
  llvm::BasicBlock* round = llvm::BasicBlock::Create(builder.getContext(), "redux", before->getParent(), after);
  before->getTerminator()->setSuccessor(0, round);
  builder.SetInsertPoint(round);
  llvm::Type* word = builder.getInt32Ty();
  llvm::PHINode *heard = builder.CreatePHI(word, 2), *gathered = builder.CreatePHI(word, 2),
                *next = builder.CreatePHI(word, 2);
  Value* known = builder.CreateICmpNE(next, none);
  Value* theirs = from_lane(builder, gathered, next);
  Value* their_next = from_lane(builder, next, next);
  Value* more = builder.CreateSelect(known, operation(gathered, theirs), gathered);
  Value* further = builder.CreateSelect(known, their_next, none);
  Value* twice = builder.CreateShl(heard, 1);
  builder.CreateCondBr(builder.CreateICmpULT(twice, none), round, after);
  heard->addIncoming(builder.getInt32(1), before);
  heard->addIncoming(twice, round);
  gathered->addIncoming(value, before);
  gathered->addIncoming(more, round);
  next->addIncoming(first, before);
  next->addIncoming(further, round);

  builder.SetInsertPoint(place);
  return from_lane(builder, more, lowest(builder, lanes));
}

PtxResult raise_ptx_wave(PtxInstruction& instruction) {
  StringRef operation = instruction.name.operation();
  if (operation == "shfl") return raise_shuffle(instruction);
  if (operation == "vote") return raise_vote(instruction);
  if (operation == "match") return raise_match(instruction);
  if (operation == "redux") return raise_redux(instruction);
  if (operation == "elect") return raise_elect(instruction);
  if (operation == "activemask" && instruction.name.take("b32") && instruction.name.is_used_up()) {
    return PtxValues{lanes_here(instruction.builder)};
  }
  return std::nullopt;
}

}  // namespace mneme::codegen::host
