// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A block as coroutines, one a work-item: each runs to its next barrier, in rounds.
#include <llvm/IR/Intrinsics.h>

#include "codegen/host/abi.h"
#include "codegen/host/item_loop.h"
#include "codegen/host/lower.h"
#include "codegen/host/neutral.h"

namespace mneme::codegen::host {
namespace {

constexpr uint64_t kFrameAlign = 64;

// The work-item as a coroutine: `ptr ramp(ptr context, i32 x, y, z, ptr cursor)` runs it up to its first
// barrier, with its frame at *cursor, which it moves on; returns the frame, null if there is no room.
class Ramp {
 public:
  Ramp(llvm::Module& module, llvm::Function& item)
      : module_(module), item_(item), context_type_(module), builder_(module.getContext()) {
    llvm::LLVMContext& context = module.getContext();
    llvm::Type* pointer = builder_.getPtrTy();
    llvm::Type* word = builder_.getInt32Ty();
    auto* type = llvm::FunctionType::get(pointer, {pointer, word, word, word, pointer}, false);
    ramp_ = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "mneme.ramp", module);
    ramp_->setPresplitCoroutine();
    ramp_->setDoesNotThrow();
    context_type_.mark(*ramp_->getArg(0));
    allocate_ = llvm::BasicBlock::Create(context, "allocate", ramp_);
    ramp_->splice(ramp_->end(), &item);
    body_ = allocate_->getNextNode();
    for (unsigned i = 0; i < 4; ++i) item.getArg(i)->replaceAllUsesWith(ramp_->getArg(i));
    suspended_ = llvm::BasicBlock::Create(context, "suspended", ramp_);
    cleanup_ = llvm::BasicBlock::Create(context, "cleanup", ramp_);
    final_ = llvm::BasicBlock::Create(context, "final", ramp_);
  }

  llvm::Function& make() {
    begin();
    suspend_at_barriers();
    end();
    item_.eraseFromParent();
    return *ramp_;
  }

 private:
  llvm::Value* none() { return llvm::ConstantTokenNone::get(module_.getContext()); }

  void begin() {
    builder_.SetInsertPoint(allocate_);
    llvm::Value* null = llvm::ConstantPointerNull::get(builder_.getPtrTy());
    llvm::Value* id =
        builder_.CreateIntrinsic(llvm::Intrinsic::coro_id, {}, {builder_.getInt32(kFrameAlign), null, null, null});
    llvm::Value* size = builder_.CreateIntrinsic(llvm::Intrinsic::coro_size, {builder_.getInt64Ty()}, {});
    llvm::Value* rounded = builder_.CreateAnd(builder_.CreateAdd(size, builder_.getInt64(kFrameAlign - 1)),
                                              builder_.getInt64(~(kFrameAlign - 1)));
    llvm::Value* context = ramp_->getArg(0);
    llvm::Value* cursor = ramp_->getArg(4);
    llvm::Value* frame = builder_.CreateLoad(builder_.getPtrTy(), cursor);
    llvm::Value* next = builder_.CreateGEP(builder_.getInt8Ty(), frame, rounded);
    llvm::Value* limit =
        builder_.CreateGEP(builder_.getInt8Ty(), context_type_.load(builder_, context, Context::kFrames),
                           context_type_.load(builder_, context, Context::kFramesSize));
    llvm::BasicBlock* fits = llvm::BasicBlock::Create(module_.getContext(), "fits", ramp_, body_);
    llvm::BasicBlock* full = llvm::BasicBlock::Create(module_.getContext(), "full", ramp_, body_);
    builder_.CreateCondBr(builder_.CreateICmpULE(next, limit), fits, full);

    builder_.SetInsertPoint(full);
    builder_.CreateStore(builder_.getInt32(kFramesExhausted),
                         context_type_.address(builder_, context, Context::kFault));
    builder_.CreateRet(null);

    builder_.SetInsertPoint(fits);
    builder_.CreateStore(next, cursor);
    handle_ = builder_.CreateIntrinsic(llvm::Intrinsic::coro_begin, {}, {id, frame});
    builder_.CreateBr(body_);
  }

  // Where the coroutine stops: resumed, it goes on at `resume`.
  void suspend(llvm::BasicBlock* resume, bool is_final) {
    llvm::Value* state =
        builder_.CreateIntrinsic(llvm::Intrinsic::coro_suspend, {}, {none(), builder_.getInt1(is_final)});
    llvm::SwitchInst* next = builder_.CreateSwitch(state, suspended_, 2);
    if (resume) next->addCase(builder_.getInt8(0), resume);
    next->addCase(builder_.getInt8(1), cleanup_);
  }

  void suspend_at_barriers() {
    for (auto& [call, operation] : operations_in(*ramp_)) {
      if (operation.kind != OperationKind::kBarrier) continue;
      llvm::BasicBlock* here = call->getParent();
      llvm::BasicBlock* resume = here->splitBasicBlock(call, "resume");
      here->getTerminator()->eraseFromParent();
      builder_.SetInsertPoint(here);
      suspend(resume, false);
      call->eraseFromParent();
    }
  }

  void end() {
    for (llvm::BasicBlock& block : *ramp_) {
      auto* back = llvm::dyn_cast_or_null<llvm::ReturnInst>(block.getTerminator());
      if (!back || back->getReturnValue()) continue;
      builder_.SetInsertPoint(back);
      builder_.CreateBr(final_);
      back->eraseFromParent();
    }
    builder_.SetInsertPoint(final_);
    suspend(nullptr, true);
    builder_.SetInsertPoint(cleanup_);
    builder_.CreateBr(suspended_);
    builder_.SetInsertPoint(suspended_);
    builder_.CreateIntrinsic(llvm::Intrinsic::coro_end, {}, {handle_, builder_.getFalse(), none()});
    builder_.CreateRet(handle_);
  }

  llvm::Module& module_;
  llvm::Function& item_;
  Context context_type_;
  llvm::IRBuilder<> builder_;
  llvm::Function* ramp_ = nullptr;
  llvm::BasicBlock *allocate_ = nullptr, *body_ = nullptr, *suspended_ = nullptr, *cleanup_ = nullptr,
                   *final_ = nullptr;
  llvm::Value* handle_ = nullptr;
};

}  // namespace

BlockCode make_coroutine_form(llvm::Module& module, llvm::Function& item) {
  llvm::Function& ramp = Ramp(module, item).make();
  llvm::Function& function = declare_block_function(module);
  llvm::IRBuilder<> builder(&function.getEntryBlock());
  Context type(module);
  llvm::Value* context = function.getArg(0);
  llvm::Value* cursor = builder.CreateAlloca(builder.getPtrTy());
  llvm::Value* first = type.load(builder, context, Context::kFrames);
  builder.CreateStore(first, cursor);
  llvm::BasicBlock* exhausted = llvm::BasicBlock::Create(module.getContext(), "exhausted", &function);

  // Every work-item up to its first barrier. Frames follow each other at equal distances.
  for_each_item(builder, context, nullptr, [&](llvm::Value* x, llvm::Value* y, llvm::Value* z, llvm::Value*) {
    llvm::Value* frame = builder.CreateCall(&ramp, {context, x, y, z, cursor});
    llvm::BasicBlock* started = llvm::BasicBlock::Create(module.getContext(), "started", &function);
    builder.CreateCondBr(builder.CreateIsNull(frame), exhausted, started);
    builder.SetInsertPoint(started);
  });
  llvm::Value* count = count_items(builder, context);
  llvm::Value* bytes =
      builder.CreatePtrDiff(builder.getInt8Ty(), builder.CreateLoad(builder.getPtrTy(), cursor), first);
  llvm::Value* stride = builder.CreateExactUDiv(bytes, count);

  // Rounds: each resumes, in order, the work-items that have not ended, from one barrier to the next.
  llvm::BasicBlock* round = llvm::BasicBlock::Create(module.getContext(), "round", &function);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(module.getContext(), "done", &function);
  llvm::Value* waiting = builder.CreateAlloca(builder.getInt8Ty());
  builder.CreateBr(round);
  builder.SetInsertPoint(round);
  builder.CreateStore(builder.getInt8(0), waiting);
  make_loop(builder, count, nullptr, [&](llvm::Value* i) {
    llvm::Value* frame = builder.CreateGEP(builder.getInt8Ty(), first, builder.CreateMul(i, stride));
    llvm::Value* ended = builder.CreateIntrinsic(llvm::Intrinsic::coro_done, {}, {frame});
    llvm::BasicBlock* resume = llvm::BasicBlock::Create(module.getContext(), "resume", &function);
    llvm::BasicBlock* next = llvm::BasicBlock::Create(module.getContext(), "next", &function);
    builder.CreateCondBr(ended, next, resume);
    builder.SetInsertPoint(resume);
    builder.CreateIntrinsic(llvm::Intrinsic::coro_resume, {}, {frame});
    builder.CreateStore(builder.getInt8(1), waiting);
    builder.CreateBr(next);
    builder.SetInsertPoint(next);
  });
  llvm::Value* again = builder.CreateIsNotNull(builder.CreateLoad(builder.getInt8Ty(), waiting));
  builder.CreateCondBr(again, round, done);
  builder.SetInsertPoint(exhausted);
  builder.CreateBr(done);
  builder.SetInsertPoint(done);
  builder.CreateRetVoid();
  return {&function, true};
}

}  // namespace mneme::codegen::host
