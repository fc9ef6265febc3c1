// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A barrier that only some threads come to is no meeting of the block's. It is two words of shared memory: how many
// have come, and how often it has opened, for which those that wait look again and again (wait_loops.cc makes them give
// way to the others).
#include "codegen/host/dialect/nvptx/ptx/barriers.h"

#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "codegen/host/dialect/steps.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilderBase;

constexpr char kName[] = "mneme.named.barriers";
constexpr unsigned kBarriers = 16;

llvm::ArrayType* type_of_all(llvm::LLVMContext& context) {
  llvm::Type* word = llvm::Type::getInt32Ty(context);
  return llvm::ArrayType::get(llvm::ArrayType::get(word, 2), kBarriers);
}

llvm::GlobalVariable& barriers_of(llvm::Module& module) {
  if (llvm::GlobalVariable* variable = module.getNamedGlobal(kName)) return *variable;
  llvm::Type* type = type_of_all(module.getContext());
  auto* variable =
      new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage, llvm::UndefValue::get(type),
                               kName, nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
  set_memory_class(*variable, MemoryClass::kShared);
  return *variable;
}

// Address of one of a barrier's two words.
Value* word_of(Builder& builder, Value* barrier, unsigned which) {
  llvm::GlobalVariable& all = barriers_of(*builder.GetInsertBlock()->getModule());
  Value* index = builder.CreateAnd(barrier, kBarriers - 1);
  return builder.CreateInBoundsGEP(type_of_all(builder.getContext()), &all,
                                   {builder.getInt32(0), index, builder.getInt32(which)});
}

// Unlike that of CUDA's own atomic operations, the order counts (checks/track_accesses.cc).
constexpr llvm::AtomicOrdering kOrder = llvm::AtomicOrdering::AcquireRelease;

// Comes, and opens the barrier if it is the last to. Gives how often it had opened before.
Value* arrive(Builder& builder, Value* barrier, Value* threads) {
  Value *come = word_of(builder, barrier, 0), *opened = word_of(builder, barrier, 1);
  llvm::Align align(4);
  auto* before = builder.CreateAlignedLoad(builder.getInt32Ty(), opened, align);
  before->setAtomic(llvm::AtomicOrdering::Acquire);
  Value* count = builder.CreateAtomicRMW(llvm::AtomicRMWInst::Add, come, builder.getInt32(1), align, kOrder);
  Value* last = builder.CreateICmpUGE(builder.CreateAdd(count, builder.getInt32(1)), threads);
  llvm::Instruction* place = &*builder.GetInsertPoint();
  builder.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(last, place, false));
  builder.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, come, builder.getInt32(0), align, kOrder);
  builder.CreateAtomicRMW(llvm::AtomicRMWInst::Add, opened, builder.getInt32(1), align, kOrder);
  builder.SetInsertPoint(place);
  return before;
}

}  // namespace

void arrive_at_named_barrier(Builder& builder, Value* barrier, Value* threads) { arrive(builder, barrier, threads); }

void meet_at_named_barrier(Builder& builder, Value* barrier, Value* threads) {
  Value* before = arrive(builder, barrier, threads);
  llvm::Instruction* place = &*builder.GetInsertPoint();
  llvm::BasicBlock* head = place->getParent();
  llvm::BasicBlock* after = llvm::SplitBlock(head, place);
  llvm::BasicBlock* wait = llvm::BasicBlock::Create(builder.getContext(), "wait", head->getParent(), after);
  head->getTerminator()->setSuccessor(0, wait);
  builder.SetInsertPoint(wait);
  auto* now = builder.CreateAlignedLoad(builder.getInt32Ty(), word_of(builder, barrier, 1), llvm::Align(4));
  now->setAtomic(llvm::AtomicOrdering::Acquire);
  builder.CreateCondBr(builder.CreateICmpEQ(now, before), wait, after);
  builder.SetInsertPoint(place);
}

void begin_named_barriers(llvm::Module& module, llvm::Function& kernel) {
  llvm::GlobalVariable* all = module.getNamedGlobal(kName);
  if (!all) return;
  // Every thread writes the same.
  llvm::IRBuilder<> builder(&*kernel.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  const llvm::DataLayout& layout = module.getDataLayout();
  builder.CreateMemSet(all, builder.getInt8(0), layout.getTypeAllocSize(all->getValueType()), llvm::Align(4));
  call_barrier(builder);
}

}  // namespace mneme::codegen::host
