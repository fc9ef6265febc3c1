// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/forms/diverged_block.h"

#include "codegen/host/forms/item_loop.h"
#include "codegen/host/forms/lower.h"

namespace mneme::codegen::host {
namespace {

// The smallest and the largest convergence point at which a work-item is.
std::pair<llvm::Value*, llvm::Value*> range_of_points(llvm::IRBuilder<>& builder, const Frames& frames,
                                                      llvm::Value* exact) {
  llvm::BasicBlock& entry = builder.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> top(&entry, entry.begin());
  llvm::Type* word = builder.getInt32Ty();
  llvm::Value *low = top.CreateAlloca(word), *high = top.CreateAlloca(word);
  builder.CreateStore(builder.getInt32(~0u), low);
  builder.CreateStore(builder.getInt32(0), high);
  make_loop(builder, exact, nullptr, [&](llvm::Value* index) {
    llvm::Value* at = builder.CreateLoad(word, point_address(builder, frames, index));
    auto merge = [&](llvm::Value* variable, llvm::Intrinsic::ID how) {
      builder.CreateStore(builder.CreateBinaryIntrinsic(how, builder.CreateLoad(word, variable), at), variable);
    };
    merge(low, llvm::Intrinsic::umin);
    merge(high, llvm::Intrinsic::umax);
  });
  return {builder.CreateLoad(word, low), builder.CreateLoad(word, high)};
}

llvm::BasicBlock* add_block(llvm::IRBuilder<>& builder, const char* name) {
  return llvm::BasicBlock::Create(builder.getContext(), name, builder.GetInsertBlock()->getParent());
}

}  // namespace

llvm::Value* point_address(llvm::IRBuilder<>& builder, const Frames& frames, llvm::Value* index) {
  return builder.CreateInBoundsGEP(builder.getInt32Ty(), frames.points, index);
}

llvm::Value* lanes_of_wave(llvm::IRBuilder<>& builder, uint32_t wave_size, llvm::Value* first, llvm::Value* exact) {
  llvm::Value* size = builder.getInt64(wave_size);
  llvm::Value* left = builder.CreateSub(exact, first, "", true, true);
  llvm::Value* missing = builder.CreateSub(size, builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, size));
  return builder.CreateLShr(builder.getInt64(~uint64_t{0} >> (64 - wave_size)), missing);
}

void for_each_wave(llvm::IRBuilder<>& builder, uint32_t wave_size, llvm::Value* exact,
                   llvm::function_ref<void(llvm::Value*)> body) {
  llvm::Value* size = builder.getInt64(wave_size);
  llvm::Value* waves = builder.CreateUDiv(builder.CreateAdd(exact, builder.getInt64(wave_size - 1)), size);
  make_loop(builder, waves, nullptr, [&](llvm::Value* wave) { body(builder.CreateMul(wave, size, "", true, true)); });
}

DivergedBlock::DivergedBlock(llvm::Module& module, const std::vector<Region>& regions, uint32_t wave_size)
    : module_(module), regions_(regions), wave_size_(wave_size) {}

bool DivergedBlock::has(bool (*is_kind)(const Operation&)) const {
  return llvm::any_of(regions_,
                      [&](const Region& region) { return region.collective && is_kind(region.collective->operation); });
}

bool DivergedBlock::goes_in_step() const {
  return llvm::any_of(regions_, [](const Region& region) { return region.begins_step(); });
}

// `i1 (ptr context, ptr frames, i64 count, ptr points, i64 first, i64 last)`: one wave's part of a round. Whether a
// lane did more than to look again at what it waits for.
llvm::Function* DivergedBlock::make_wave_function() {
  llvm::IRBuilder<> builder(module_.getContext());
  llvm::Type *pointer = builder.getPtrTy(), *wide = builder.getInt64Ty();
  auto* type = llvm::FunctionType::get(builder.getInt1Ty(), {pointer, pointer, wide, pointer, wide, wide}, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "mneme.wave", module_);
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::NoInline);
  // Who goes in step seldom comes here: at the grid's edge.
  if (goes_in_step()) function->addFnAttr(llvm::Attribute::OptimizeForSize);
  Context(module_).mark(*function->getArg(0));
  Frames frames = {function->getArg(0), function->getArg(1), function->getArg(2), function->getArg(3)};
  llvm::Value *first = function->getArg(4), *last = function->getArg(5);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", function));
  llvm::BasicBlock *next = add_block(builder, "next"), *some = add_block(builder, "some"),
                   *none = add_block(builder, "none");
  llvm::Value* moved = builder.CreateAlloca(builder.getInt1Ty());
  builder.CreateStore(builder.getFalse(), moved);
  builder.CreateBr(next);
  builder.SetInsertPoint(next);
  auto* lanes = llvm::FixedVectorType::get(builder.getInt32Ty(), wave_size_);
  llvm::Value* at = builder.CreateAlignedLoad(lanes, point_address(builder, frames, first), llvm::Align(4));
  // Those that yielded hold up the lanes at later convergence points; without collectives of waves, nobody.
  llvm::Value *numbers = at, *end = builder.getInt32(kYields);
  if (has(is_yield) && has(is_wave_collective)) {
    numbers = builder.CreateAnd(at, builder.CreateVectorSplat(wave_size_, builder.getInt32(~kYields)));
    end = builder.getInt32(kWaits);
  }
  llvm::Value* least = builder.CreateIntMinReduce(numbers);
  builder.CreateCondBr(builder.CreateICmpULT(least, end), some, none);
  builder.SetInsertPoint(none);
  builder.CreateRet(builder.CreateLoad(builder.getInt1Ty(), moved));
  builder.SetInsertPoint(some);
  llvm::Value* here_mask = builder.CreateICmpEQ(at, builder.CreateVectorSplat(wave_size_, least));
  llvm::Value* active =
      builder.CreateZExt(builder.CreateBitCast(here_mask, builder.getIntNTy(wave_size_)), builder.getInt64Ty());
  llvm::SwitchInst* where = builder.CreateSwitch(least, none);
  for (uint32_t number = goes_in_step() ? 1 : 2; number <= regions_.size(); ++number) {
    llvm::BasicBlock* here = add_block(builder, "at");
    where->addCase(builder.getInt32(number), here);
    builder.SetInsertPoint(here);
    bool yields = is_yield(regions_[number - 1].collective->operation);
    if (yields) {  // all who are here have let others go on, and wait for the next round
      llvm::BasicBlock* look = add_block(builder, "look");
      builder.CreateCondBr(builder.CreateIsNull(active), none, look);
      builder.SetInsertPoint(look);
    }
    emit_case(builder, number, frames, first, last, active);
    llvm::Value* more = builder.getTrue();
    if (yields) {
      llvm::Value* then = builder.CreateAlignedLoad(lanes, point_address(builder, frames, first), llvm::Align(4));
      llvm::Value* same = builder.CreateVectorSplat(wave_size_, builder.getInt32(number | kYields));
      llvm::Value* left = builder.CreateAnd(here_mask, builder.CreateICmpNE(then, same));
      more = builder.CreateOr(builder.CreateOrReduce(left), builder.CreateLoad(builder.getInt1Ty(), moved));
    }
    builder.CreateStore(more, moved);
    builder.CreateBr(next);
  }
  return function;
}

// The lanes that are at the start of a region go through it.
void DivergedBlock::emit_case(llvm::IRBuilder<>& builder, uint32_t number, const Frames& frames, llvm::Value* first,
                              llvm::Value* last, llvm::Value* active) {
  const Region& region = regions_[number - 1];
  if (region.collective && is_wave_collective(region.collective->operation))
    compute_wave_collective(builder, *region.collective, frames, wave_size_, first, active);
  for_items_between(builder, frames.context, first, last, region.diverged_loop->metadata(),
                    [&](llvm::Value* x, llvm::Value* y, llvm::Value* z, llvm::Value* index) {
                      llvm::BasicBlock *run = add_block(builder, "run"), *skip = add_block(builder, "skip");
                      llvm::Value* address = point_address(builder, frames, index);
                      llvm::LoadInst* at = builder.CreateLoad(builder.getInt32Ty(), address);
                      region.diverged_loop->mark(*at);
                      builder.CreateCondBr(builder.CreateICmpEQ(at, builder.getInt32(number)), run, skip);
                      builder.SetInsertPoint(run);
                      llvm::CallInst* result = builder.CreateCall(
                          region.diverged, {frames.context, x, y, z, frames.base, frames.count, index});
                      region.diverged_loop->mark(*builder.CreateStore(builder.CreateExtractValue(result, 0), address));
                      builder.CreateBr(skip);
                      builder.SetInsertPoint(skip);
                    });
}

void DivergedBlock::emit(llvm::IRBuilder<>& builder, const Frames& frames, llvm::Value* exact, llvm::Value* point,
                         llvm::BasicBlock* done, llvm::BasicBlock* rejoin, llvm::Value* rejoins) {
  llvm::Function* wave = make_wave_function();
  // Beyond the last work-item, as if they had ended.
  llvm::BasicBlock *pad = add_block(builder, "pad"), *round = add_block(builder, "round");
  llvm::Value* missing = builder.CreateSub(frames.count, exact);
  builder.CreateCondBr(builder.CreateIsNull(missing), round, pad);
  builder.SetInsertPoint(pad);
  make_loop(builder, missing, nullptr, [&](llvm::Value* i) {
    builder.CreateStore(builder.getInt32(kEnded), point_address(builder, frames, builder.CreateAdd(exact, i)));
  });
  builder.CreateBr(round);

  builder.SetInsertPoint(round);
  llvm::BasicBlock& entry = round->getParent()->getEntryBlock();
  llvm::Value* moved = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(builder.getInt1Ty());
  builder.CreateStore(builder.getFalse(), moved);
  for_each_wave(builder, wave_size_, exact, [&](llvm::Value* first) {
    llvm::Value* last = builder.CreateBinaryIntrinsic(
        llvm::Intrinsic::umin, exact, builder.CreateAdd(first, builder.getInt64(wave_size_), "", true, true));
    llvm::Value* more =
        builder.CreateCall(wave, {frames.context, frames.base, frames.count, frames.points, first, last});
    builder.CreateStore(builder.CreateOr(more, builder.CreateLoad(builder.getInt1Ty(), moved)), moved);
  });
  auto [low, high] = range_of_points(builder, frames, exact);
  llvm::BasicBlock *waiting = add_block(builder, "waiting"), *converged = add_block(builder, "converged"),
                   *large = add_block(builder, "large"), *apart = add_block(builder, "diverged"),
                   *go_on = add_block(builder, "go.on");
  builder.CreateCondBr(builder.CreateICmpEQ(low, builder.getInt32(kEnded)), done, waiting);
  builder.SetInsertPoint(waiting);
  if (has(is_yield)) {
    llvm::BasicBlock *yielded = add_block(builder, "yielded"), *met = add_block(builder, "met");
    builder.CreateCondBr(builder.CreateICmpULT(low, builder.getInt32(kWaits)), yielded, met);
    builder.SetInsertPoint(yielded);
    let_look_again(builder, frames, exact);
    llvm::Value* more = builder.CreateZExt(builder.CreateLoad(builder.getInt1Ty(), moved), builder.getInt32Ty());
    call_through_table(builder, "yield", builder.getVoidTy(), frames.context, builder.getInt32(0), {more});
    builder.CreateBr(round);
    builder.SetInsertPoint(met);
  }
  builder.CreateCondBr(builder.CreateICmpEQ(low, high), converged, apart);
  builder.SetInsertPoint(converged);
  builder.CreateCondBr(rejoins, large, go_on);
  builder.SetInsertPoint(large);
  builder.CreateStore(low, point);
  builder.CreateBr(rejoin);
  builder.SetInsertPoint(apart);
  call_through_table(builder, "diverged", builder.getVoidTy(), frames.context, builder.getInt32(0),
                     {frames.points, builder.CreateTrunc(exact, builder.getInt32Ty())});
  builder.CreateBr(go_on);
  builder.SetInsertPoint(go_on);
  release(builder, frames, exact);
  builder.CreateBr(round);
}

// All that yielded go on.
void DivergedBlock::let_look_again(llvm::IRBuilder<>& builder, const Frames& frames, llvm::Value* exact) {
  ParallelLoop loop(builder.getContext());
  make_loop(builder, exact, loop.metadata(), [&](llvm::Value* index) {
    llvm::Value* address = point_address(builder, frames, index);
    llvm::LoadInst* at = builder.CreateLoad(builder.getInt32Ty(), address);
    loop.mark(*at);
    llvm::Value* yields = builder.CreateICmpULT(at, builder.getInt32(kWaits));
    llvm::Value* on = builder.CreateAnd(at, builder.getInt32(~kYields));
    loop.mark(*builder.CreateStore(builder.CreateSelect(yields, on, at), address));
  });
}

// All that wait for the block go on.
void DivergedBlock::release(llvm::IRBuilder<>& builder, const Frames& frames, llvm::Value* exact) {
  bool grid = false;
  for (uint32_t number = 2; number <= regions_.size(); ++number) {
    const Collective& collective = *regions_[number - 1].collective;
    if (!is_block_collective(collective.operation)) continue;
    grid |= collective.operation.kind == OperationKind::kBarrierGrid;
    compute_block_collective(builder, collective, frames, exact, builder.getInt32(number | kWaits));
  }
  llvm::Type* word = builder.getInt32Ty();
  if (grid) call_through_table(builder, "converge_grid", builder.getVoidTy(), frames.context, builder.getInt32(0), {});
  ParallelLoop loop(builder.getContext());
  make_loop(builder, exact, loop.metadata(), [&](llvm::Value* index) {
    llvm::Value* address = point_address(builder, frames, index);
    llvm::LoadInst* at = builder.CreateLoad(word, address);
    loop.mark(*at);
    llvm::Value* ended = builder.CreateICmpEQ(at, builder.getInt32(kEnded));
    llvm::Value* released = builder.CreateAnd(at, builder.getInt32(~kWaits));
    loop.mark(*builder.CreateStore(builder.CreateSelect(ended, at, released), address));
  });
}

}  // namespace mneme::codegen::host
