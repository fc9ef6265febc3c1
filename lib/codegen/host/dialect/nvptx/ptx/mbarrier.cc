// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX's barriers in shared memory (mbarrier). What the word holds is the implementation's own:
//
//   bits 0 to 19   how many are still to come in this phase
//   bits 20 to 39  how many are to come in each
//   bits 40 to 60  2^20 + the bytes that copies are still to bring
//   bits 61 to 63  the phase's number
//
// Whatever changes it is one addition, after which exactly one thread finds that nothing is left to wait for: it opens
// the next phase. Nobody comes in between: a block's threads run one after the other, and none gives way there. Who
// waits looks at the word again and again (wait_loops.cc makes them
// give way to the others).
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "codegen/host/dialect/nvptx/ptx/memory.h"

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;

constexpr unsigned kExpectedAt = 20, kBytesAt = 40, kPhaseAt = 61;
constexpr uint64_t kCount = (1 << 20) - 1, kNoBytes = uint64_t{1} << 60, kBytes = uint64_t{(1 << 21) - 1} << kBytesAt;
// Unlike that of CUDA's own atomic operations, the order counts (checks/track_accesses.cc).
constexpr llvm::AtomicOrdering kOrder = llvm::AtomicOrdering::AcquireRelease;

Value* number(Builder& builder, Value* value) { return as_type(builder, value, builder.getInt64Ty()); }
Value* shifted(Builder& builder, Value* value, unsigned bits) {
  return builder.CreateShl(number(builder, value), bits);
}

// Adds, and opens the next phase if nothing is left of this one. Gives the word as it was.
Value* change(Builder& builder, Value* barrier, Value* by) {
  llvm::Align align(8);
  Value* before = builder.CreateAtomicRMW(llvm::AtomicRMWInst::Add, barrier, by, align, kOrder);
  Value* now = builder.CreateAdd(before, by);
  Value* left = builder.CreateAnd(now, kCount | kBytes);
  llvm::Instruction* place = &*builder.GetInsertPoint();
  Value* is_last = builder.CreateICmpEQ(left, builder.getInt64(kNoBytes));
  builder.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(is_last, place, false));
  Value* expected = builder.CreateAnd(builder.CreateLShr(now, kExpectedAt), kCount);
  Value* next = builder.CreateAdd(expected, builder.getInt64(uint64_t{1} << kPhaseAt));
  builder.CreateAtomicRMW(llvm::AtomicRMWInst::Add, barrier, next, align, kOrder);
  builder.SetInsertPoint(place);
  return before;
}

Value* arrive(Builder& builder, Value* barrier, Value* count, bool drops, Value* bytes) {
  Value* come = number(builder, count);
  if (drops) come = builder.CreateAdd(come, shifted(builder, come, kExpectedAt));
  Value* by = builder.CreateNeg(come);
  if (bytes) by = builder.CreateAdd(by, shifted(builder, bytes, kBytesAt));
  return change(builder, barrier, by);
}

// Whether the phase is over that the state was got in; or the last one of that parity.
Value* is_over(Builder& builder, Value* barrier, Value* of, bool parity) {
  auto* now = builder.CreateAlignedLoad(builder.getInt64Ty(), barrier, llvm::Align(8));
  now->setAtomic(llvm::AtomicOrdering::Acquire);
  Value* phase = builder.CreateLShr(now, kPhaseAt);
  if (parity) return builder.CreateICmpNE(builder.CreateAnd(phase, 1), builder.CreateAnd(number(builder, of), 1));
  return builder.CreateICmpNE(phase, builder.CreateLShr(of, kPhaseAt));
}

// What a name says of order and scope: all is ordered here, and the block is all that there is.
void take_semantics(PtxName& name) {
  name.take_one_of({"release", "acquire", "relaxed"});
  take_ptx_scope(name);
}

Value* take_barrier(PtxInstruction& instruction) {
  StringRef space = take_ptx_space(instruction.name);
  if (!instruction.name.take("b64") || !instruction.name.is_used_up() || instruction.operands.empty()) return nullptr;
  return space == "shared" || space.empty() ? ptx_address(instruction.builder, instruction.operands[0], space)
                                            : nullptr;
}

// arrive, arrive_drop: of one, or so many; with expect_tx of one, for which so many bytes are yet to come.
PtxResult raise_arrive(PtxInstruction& instruction, bool drops) {
  Builder& builder = instruction.builder;
  instruction.name.take("noComplete");
  const bool expects = instruction.name.take("expect_tx");
  take_semantics(instruction.name);
  Value* barrier = take_barrier(instruction);
  if (!barrier || instruction.results > 1 || instruction.operands.size() > 2) return std::nullopt;
  Value* given = instruction.operands.size() == 2 ? instruction.operands[1] : nullptr;
  if (expects && !given) return std::nullopt;
  Value* count = expects || !given ? builder.getInt64(1) : given;
  Value* state = arrive(builder, barrier, count, drops, expects ? given : nullptr);
  return instruction.results ? PtxValues{state} : PtxValues{};
}

// test_wait, try_wait: how long the latter may take is up to whoever asks again.
PtxResult raise_wait(PtxInstruction& instruction, size_t most_operands) {
  const bool parity = instruction.name.take("parity");
  take_semantics(instruction.name);
  Value* barrier = take_barrier(instruction);
  const size_t given = instruction.operands.size();
  if (!barrier || instruction.results != 1 || given < 2 || given > most_operands) return std::nullopt;
  return PtxValues{is_over(instruction.builder, barrier, instruction.operands[1], parity)};
}

PtxResult raise_init(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  Value* barrier = take_barrier(instruction);
  if (!barrier || instruction.results != 0 || instruction.operands.size() != 2) return std::nullopt;
  Value* count = number(builder, instruction.operands[1]);
  Value* word = builder.CreateOr(builder.CreateOr(count, shifted(builder, count, kExpectedAt)), kNoBytes);
  builder.CreateAlignedStore(word, barrier, llvm::Align(8))->setAtomic(llvm::AtomicOrdering::Release);
  return PtxValues{};
}

PtxResult raise_bytes(PtxInstruction& instruction, bool have_come) {
  take_semantics(instruction.name);
  Value* barrier = take_barrier(instruction);
  if (!barrier || instruction.results != 0 || instruction.operands.size() != 2) return std::nullopt;
  expect_bytes(instruction.builder, barrier, instruction.operands[1], have_come);
  return PtxValues{};
}

}  // namespace

void expect_bytes(Builder& builder, Value* barrier, Value* bytes, bool have_come) {
  Value* by = shifted(builder, bytes, kBytesAt);
  change(builder, barrier, have_come ? builder.CreateNeg(by) : by);
}

void arrive_at_mbarrier(Builder& builder, Value* barrier) {
  arrive(builder, barrier, builder.getInt64(1), false, nullptr);
}

PtxResult raise_ptx_mbarrier(PtxInstruction& instruction) {
  PtxName& name = instruction.name;
  if (name.take("init")) return raise_init(instruction);
  if (name.take("inval")) {
    return take_barrier(instruction) && instruction.results == 0 ? PtxResult(PtxValues{}) : std::nullopt;
  }
  if (name.take("arrive")) return raise_arrive(instruction, false);
  if (name.take("arrive_drop")) return raise_arrive(instruction, true);
  if (name.take("test_wait")) return raise_wait(instruction, 2);
  if (name.take("try_wait")) return raise_wait(instruction, 3);
  if (name.take("expect_tx")) return raise_bytes(instruction, false);
  if (name.take("complete_tx")) return raise_bytes(instruction, true);
  if (name.take("pending_count") && name.take("b64") && name.is_used_up() && instruction.operands.size() == 1) {
    return PtxValues{instruction.builder.CreateAnd(number(instruction.builder, instruction.operands[0]), kCount)};
  }
  return std::nullopt;
}

}  // namespace mneme::codegen::host
