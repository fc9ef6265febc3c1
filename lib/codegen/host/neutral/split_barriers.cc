// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/neutral/split_barriers.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/CFG.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <vector>

#include "base/error.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

using llvm::Value;
using Calls = llvm::SmallSetVector<llvm::CallInst*, 8>;

constexpr llvm::StringLiteral kArrive = "mneme.split.arrive", kWait = "mneme.split.wait";
constexpr llvm::AtomicOrdering kOrder = llvm::AtomicOrdering::SequentiallyConsistent;

llvm::CallInst* call_half(llvm::IRBuilderBase& builder, llvm::StringRef name) {
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  llvm::FunctionCallee callee = module.getOrInsertFunction(name, builder.getVoidTy());
  llvm::cast<llvm::Function>(callee.getCallee())->setConvergent();
  llvm::CallInst* call = builder.CreateCall(callee);
  call->setConvergent();
  return call;
}

Calls calls_of(llvm::Function* function, const bundle::KernelInfo& kernel) {
  Calls calls;
  if (!function) return calls;
  for (llvm::User* user : function->users()) {
    auto* call = llvm::cast<llvm::CallInst>(user);
    if (call->getFunction()->getName() != kernel.name) {
      throw Error::of(
          "kernel '{}' has half a barrier in '{}', a function that is recursive or called through a pointer, "
          "which the host device does not have",
          kernel.demangled, call->getFunction()->getName().str());
    }
    calls.insert(call);
  }
  return calls;
}

// Whether somebody else may have to arrive first for a work-item to get past it.
bool may_wait(const llvm::Instruction& instruction) {
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return load->isAtomic() || load->isVolatile();
  if (llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(instruction)) return true;
  auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  if (!call) return false;
  const llvm::Function* called = call->getCalledFunction();
  if (!called || is_end(*called)) return true;
  if (called->isIntrinsic()) return false;
  std::optional<Operation> operation = operation_of(*called);
  return !operation || is_convergence_point(*operation);
}

// The waits that each way from an arrival leads to. False: there is another thing on one of them.
bool find_waits(llvm::CallInst& arrival, const Calls& waits, Calls& reached) {
  llvm::SmallSetVector<llvm::BasicBlock*, 16> blocks;
  auto follow = [&](llvm::BasicBlock& block, llvm::BasicBlock::iterator from) {
    for (llvm::Instruction& instruction : llvm::make_range(from, block.end())) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call && waits.contains(call)) {
        reached.insert(call);
        return true;
      }
      if (may_wait(instruction) || llvm::isa<llvm::ReturnInst>(instruction)) return false;
    }
    for (llvm::BasicBlock* next : llvm::successors(&block)) blocks.insert(next);
    return true;
  };
  if (!follow(*arrival.getParent(), std::next(arrival.getIterator()))) return false;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (!follow(*blocks[i], blocks[i]->begin())) return false;
  }
  return true;
}

bool are_pairs(const Calls& arrivals, const Calls& waits) {
  Calls reached;
  for (llvm::CallInst* arrival : arrivals) {
    if (!find_waits(*arrival, waits, reached)) return false;
  }
  return reached.size() == waits.size();
}

class CountedBarrier {
 public:
  CountedBarrier(llvm::Module& module, llvm::Function& kernel) : builder_(&kernel.getEntryBlock().front()) {
    llvm::Type* type = llvm::ArrayType::get(builder_.getInt32Ty(), 3);
    words_ = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage,
                                      llvm::UndefValue::get(type), "mneme.split.barrier");
    set_memory_class(*words_, MemoryClass::kShared);
    words_->setAlignment(llvm::Align(4));
    // How often it had opened before the work-item arrived last, plus one.
    arrived_ = builder_.CreateAlloca(builder_.getInt32Ty());
    builder_.SetInsertPoint(kernel.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    builder_.CreateStore(builder_.getInt32(0), arrived_);
    builder_.CreateMemSet(words_, builder_.getInt8(0), 12, llvm::Align(4));  // every work-item writes the same
    call_barrier(builder_);
  }

  void arrive(llvm::CallInst& place) {
    builder_.SetInsertPoint(&place);
    builder_.CreateStore(builder_.CreateAdd(load(kOpened), builder_.getInt32(1)), arrived_);
    come(place);
  }

  void wait(llvm::CallInst& place) {
    builder_.SetInsertPoint(&place);
    Value* arrived = builder_.CreateLoad(builder_.getInt32Ty(), arrived_);
    llvm::BasicBlock* head = place.getParent();
    llvm::BasicBlock* after = llvm::SplitBlock(head, &place);
    llvm::BasicBlock* look = llvm::BasicBlock::Create(builder_.getContext(), "wait", head->getParent(), after);
    head->getTerminator()->setSuccessor(0, look);
    builder_.SetInsertPoint(look);
    builder_.CreateCondBr(is_awaited(arrived), look, after);
  }

  // It has arrived at this and all later openings.
  void end(llvm::Instruction& place) {
    builder_.SetInsertPoint(&place);
    Value* arrived = builder_.CreateLoad(builder_.getInt32Ty(), arrived_);
    Value* is_counted = is_awaited(arrived);
    add(kEnded);
    llvm::Instruction* comes = llvm::SplitBlockAndInsertIfThen(builder_.CreateNot(is_counted), &place, false);
    builder_.SetInsertPoint(comes);
    come(*comes);
  }

 private:
  enum Word : unsigned { kCome, kOpened, kEnded };

  Value* word(Word which) { return builder_.CreateConstInBoundsGEP2_32(words_->getValueType(), words_, 0, which); }
  Value* load(Word which) {
    auto* value = builder_.CreateAlignedLoad(builder_.getInt32Ty(), word(which), llvm::Align(4));
    value->setAtomic(kOrder);
    return value;
  }
  Value* add(Word which) {
    return builder_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, word(which), builder_.getInt32(1), llvm::Align(4),
                                    kOrder);
  }
  Value* is_awaited(Value* arrived) {
    return builder_.CreateICmpEQ(builder_.CreateAdd(load(kOpened), builder_.getInt32(1)), arrived);
  }

  // One more has; the last opens the barrier.
  void come(llvm::Instruction& place) {
    Value* threads = builder_.getInt32(1);
    for (unsigned i = 0; i < 3; ++i) threads = builder_.CreateMul(threads, call_query(builder_, Query::kLocalSize, i));
    Value* count = builder_.CreateAdd(add(kCome), builder_.getInt32(1));
    Value* is_last = builder_.CreateICmpUGE(count, threads);
    builder_.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(is_last, &place, false));
    builder_.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, word(kCome), load(kEnded), llvm::Align(4), kOrder);
    add(kOpened);
  }

  llvm::IRBuilder<> builder_;
  llvm::GlobalVariable* words_ = nullptr;
  llvm::AllocaInst* arrived_ = nullptr;
};

void count(llvm::Module& module, llvm::Function& kernel, const Calls& arrivals, const Calls& waits) {
  std::vector<llvm::Instruction*> ends;
  for (llvm::BasicBlock& block : kernel) {
    for (llvm::Instruction& instruction : block) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      const llvm::Function* called = call ? call->getCalledFunction() : nullptr;
      if (llvm::isa<llvm::ReturnInst>(instruction) || (called && is_end(*called))) ends.push_back(&instruction);
    }
  }
  CountedBarrier barrier(module, kernel);
  for (llvm::CallInst* call : arrivals) barrier.arrive(*call);
  for (llvm::CallInst* call : waits) barrier.wait(*call);
  for (llvm::Instruction* instruction : ends) barrier.end(*instruction);
}

}  // namespace

llvm::CallInst* call_split_arrive(llvm::IRBuilderBase& builder) { return call_half(builder, kArrive); }
llvm::CallInst* call_split_wait(llvm::IRBuilderBase& builder) { return call_half(builder, kWait); }

bool is_split_barrier(const llvm::Function& function) {
  return function.getName() == kArrive || function.getName() == kWait;
}

void join_split_barriers(llvm::Module& module, const bundle::KernelInfo& kernel) {
  llvm::Function *arrive = module.getFunction(kArrive), *wait = module.getFunction(kWait);
  if (!arrive && !wait) return;
  Calls arrivals = calls_of(arrive, kernel), waits = calls_of(wait, kernel);
  if (are_pairs(arrivals, waits)) {
    for (llvm::CallInst* call : waits) {
      llvm::IRBuilder<> builder(call);
      call_barrier(builder);
    }
  } else {
    count(module, *module.getFunction(kernel.name), arrivals, waits);
  }
  for (const Calls& calls : {arrivals, waits}) {
    for (llvm::CallInst* call : calls) call->eraseFromParent();
  }
  for (llvm::Function* function : {arrive, wait}) {
    if (function) function->eraseFromParent();
  }
}

}  // namespace mneme::codegen::host
