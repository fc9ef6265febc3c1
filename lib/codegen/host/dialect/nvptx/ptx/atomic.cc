// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX's atomic updates: LLVM's.
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "codegen/host/dialect/nvptx/ptx/memory.h"
#include "codegen/host/dialect/nvptx/ptx/rounding.h"

namespace mneme::codegen::host {
namespace {

using llvm::AtomicOrdering;
using llvm::AtomicRMWInst;
using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;

AtomicRMWInst::BinOp update_of(StringRef operation, const PtxType& type) {
  if (type.is_floating()) {
    return llvm::StringSwitch<AtomicRMWInst::BinOp>(operation)
        .Case("add", AtomicRMWInst::FAdd)
        .Case("min", AtomicRMWInst::FMin)
        .Case("max", AtomicRMWInst::FMax)
        .Default(AtomicRMWInst::BAD_BINOP);
  }
  return llvm::StringSwitch<AtomicRMWInst::BinOp>(operation)
      .Case("add", AtomicRMWInst::Add)
      .Case("sub", AtomicRMWInst::Sub)
      .Case("and", AtomicRMWInst::And)
      .Case("or", AtomicRMWInst::Or)
      .Case("xor", AtomicRMWInst::Xor)
      .Case("exch", AtomicRMWInst::Xchg)
      .Case("inc", AtomicRMWInst::UIncWrap)
      .Case("dec", AtomicRMWInst::UDecWrap)
      .Case("min", type.is_signed() ? AtomicRMWInst::Min : AtomicRMWInst::UMin)
      .Case("max", type.is_signed() ? AtomicRMWInst::Max : AtomicRMWInst::UMax)
      .Default(AtomicRMWInst::BAD_BINOP);
}

// Sums of bfloat16, for which LLVM's update would need functions that the host may not have: tried until nobody else
// has come in between.
Value* add_brains(Builder& builder, Value* address, Value* value, const PtxType& type, AtomicOrdering ordering) {
  llvm::Align align(type.bits * type.lanes / 8);
  llvm::Type* word = builder.getIntNTy(type.bits * type.lanes);
  Value* first = builder.CreateAlignedLoad(word, address, align);
  llvm::Instruction* place = &*builder.GetInsertPoint();
  llvm::BasicBlock* before = place->getParent();
  llvm::BasicBlock* after = llvm::SplitBlock(before, place);
  llvm::BasicBlock* trial = llvm::BasicBlock::Create(builder.getContext(), "sum", before->getParent(), after);
  before->getTerminator()->setSuccessor(0, trial);
  builder.SetInsertPoint(trial);
  llvm::PHINode* old = builder.CreatePHI(word, 2);
  PtxType element = type.element();
  Value* sum = by_elements(builder, type, {old, value}, [&](llvm::ArrayRef<Value*> in) {
    return narrow(builder, builder.CreateFAdd(widen(builder, in[0], element), widen(builder, in[1], element)), element);
  });
  Value* both = builder.CreateAtomicCmpXchg(address, old, as_type(builder, sum, word), align, ordering,
                                            llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(ordering));
  Value* seen = builder.CreateExtractValue(both, 0);
  builder.CreateCondBr(builder.CreateExtractValue(both, 1), after, trial);
  old->addIncoming(first, before);
  old->addIncoming(seen, trial);
  builder.SetInsertPoint(place);
  return old;
}

}  // namespace

Value* update_memory(Builder& builder, StringRef operation, Value* address, llvm::ArrayRef<Value*> operands,
                     const PtxType& type, AtomicOrdering ordering) {
  llvm::Align align(type.bits * type.lanes / 8);
  if (operation == "cas") {
    llvm::Type* word = builder.getIntNTy(type.bits * type.lanes);
    Value* both =
        builder.CreateAtomicCmpXchg(address, as_type(builder, operands[0], word), as_type(builder, operands[1], word),
                                    align, ordering, llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(ordering));
    return builder.CreateExtractValue(both, 0);
  }
  AtomicRMWInst::BinOp update = update_of(operation, type);
  bool adds = update == AtomicRMWInst::FAdd;
  if (update == AtomicRMWInst::BAD_BINOP || ((type.lanes == 2 || type.kind == PtxType::kBrain) && !adds))
    return nullptr;
  if (type.kind == PtxType::kBrain) return add_brains(builder, address, operands[0], type, ordering);
  return builder.CreateAtomicRMW(update, address, as_type(builder, operands[0], type), align, ordering);
}

PtxResult raise_ptx_atomic(PtxInstruction& instruction) {
  Builder& builder = instruction.builder;
  PtxName& name = instruction.name;
  bool gives = name.operation() == "atom";
  StringRef order = name.take_one_of({"relaxed", "acquire", "release", "acq_rel"});
  auto ordering = llvm::StringSwitch<AtomicOrdering>(order)
                      .Case("acquire", AtomicOrdering::Acquire)
                      .Case("release", AtomicOrdering::Release)
                      .Case("acq_rel", AtomicOrdering::AcquireRelease)
                      .Default(AtomicOrdering::Monotonic);
  take_ptx_scope(name);
  StringRef space = take_ptx_space(name);
  name.take("noftz");
  StringRef operation = name.take_one_of({"and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max"});
  std::optional<PtxType> type = name.take_type();
  unsigned count = name.take("v2") ? 2 : name.take("v4") ? 4 : name.take("v8") ? 8 : 1;
  size_t values = operation == "cas" ? 2 : count;
  if (operation.empty() || !type || type->bits == 128 || !name.is_used_up()) return std::nullopt;
  if (count > 1 && (!type->is_floating() || type->bits * type->lanes * count > 128)) return std::nullopt;
  // A result that nobody wants may be left out of atom, too ("_").
  if (instruction.operands.size() != 1 + values) return std::nullopt;
  if (instruction.results && (!gives || instruction.results != count)) return std::nullopt;
  Value* address = ptx_address(builder, instruction.operands[0], space);
  if (!address) return std::nullopt;
  llvm::ArrayRef<Value*> operands(instruction.operands);
  // Of a vector each element is an update of its own.
  PtxValues results;
  for (unsigned i = 0; i < count; ++i) {
    Value* place = builder.CreateConstGEP1_64(builder.getInt8Ty(), address, uint64_t{i} * type->bits * type->lanes / 8);
    llvm::ArrayRef<Value*> given = count == 1 ? operands.drop_front() : operands.slice(1 + i, 1);
    Value* old = update_memory(builder, operation, place, given, *type, ordering);
    if (!old) return std::nullopt;
    if (instruction.results) results.push_back(old);
  }
  return results;
}

}  // namespace mneme::codegen::host
