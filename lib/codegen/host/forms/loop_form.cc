// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A block as loops over its work-items, one for each region of code between two collectives.
//
//   mneme.item:                                   mneme.run_block:
//     s[t] = in[t]                                  for (t…) s[t] = in[t]              region 1
//     mneme.barrier()                      ──▶
//     out[t] = s[n - 1 - t]                         for (t…) out[t] = s[n - 1 - t]     region 2
//
// A region starts at the kernel's entry or behind a collective (a barrier, or an operation of a wave), and ends at the
// collectives that can be reached next or at the kernel's end. Values that live on from one region to another are kept
// in arrays with an element a work-item, so the loops over work-items vectorise; those that are uniform are ordinary
// variables. Usually all work-items arrive at the same collective; it is computed from such arrays to such arrays, and
// the next loop runs the region behind it. Where they did not, each wave goes on by itself (diverged_block.h) until all
// are at one barrier again.
//
// Relies on collectives standing in the item only, and on order_convergence_points (convergence.h) for where the lanes
// of a wave reconverge.
#include "base/error.h"
#include "codegen/host/abi.h"
#include "codegen/host/forms/collectives.h"
#include "codegen/host/forms/diverged_block.h"
#include "codegen/host/forms/item_loop.h"
#include "codegen/host/forms/lower.h"
#include "codegen/host/forms/regions.h"
#include "codegen/host/forms/share_code.h"
#include "codegen/host/forms/step_loops.h"
#include "codegen/host/neutral/debug_information.h"

namespace mneme::codegen::host {
namespace {

// `void mneme.run_block(ptr context)`: which region's loop runs when.
class Schedule {
 public:
  Schedule(llvm::Module& module, std::vector<Region> regions, const std::vector<Slot>& slots, uint64_t bytes_per_item,
           uint32_t wave_size, uint64_t reserved)
      : module_(module),
        regions_(std::move(regions)),
        slots_(slots),
        bytes_per_item_(bytes_per_item),
        wave_size_(wave_size),
        reserved_(reserved),
        type_(module),
        builder_(module.getContext()) {}

  llvm::Function& make() {
    function_ = &declare_block_function(module_);
    context_ = function_->getArg(0);
    builder_.SetInsertPoint(&function_->getEntryBlock());
    for (const Slot& slot : slots_) {
      if (slot.uniform) uniform_.emplace_back(&slot, builder_.CreateAlloca(slot.type));
    }
    result_point_ = builder_.CreateAlloca(builder_.getInt32Ty());
    low_ = builder_.CreateAlloca(builder_.getInt32Ty());
    high_ = builder_.CreateAlloca(builder_.getInt32Ty());
    done_ = block("done");
    reserve();
    for (size_t i = 0; i < regions_.size(); ++i) heads_.push_back(block("region"));
    begin();
    for (uint32_t number = 1; number <= regions_.size(); ++number) run_converged(number);
    if (diverged_) run_diverged();
    builder_.SetInsertPoint(done_);
    builder_.CreateRetVoid();
    return *function_;
  }

 private:
  static constexpr uint64_t kAlign = 64;  // and no wave is larger

  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(module_.getContext(), name, function_); }

  // The arrays, and one that says where each work-item is.
  void reserve() {
    if (regions_.size() == 1) {
      frames_ = llvm::ConstantPointerNull::get(builder_.getPtrTy());
      count_ = builder_.getInt64(0);
      return;
    }
    exact_ = count_items(builder_, context_);
    count_ =
        builder_.CreateAnd(builder_.CreateAdd(exact_, builder_.getInt64(kAlign - 1)), builder_.getInt64(~(kAlign - 1)));
    frames_ = type_.load(builder_, context_, Context::kFrames);
    if (reserved_) frames_ = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), frames_, reserved_);
    points_ = builder_.CreateGEP(builder_.getInt8Ty(), frames_,
                                 builder_.CreateMul(count_, builder_.getInt64(bytes_per_item_)));
    llvm::Value* needed = builder_.CreateMul(count_, builder_.getInt64(bytes_per_item_ + sizeof(uint32_t)));
    if (reserved_) needed = builder_.CreateAdd(needed, builder_.getInt64(reserved_));
    llvm::BasicBlock* fits = block("fits");
    llvm::BasicBlock* full = block("full");
    builder_.CreateCondBr(builder_.CreateICmpULE(needed, type_.load(builder_, context_, Context::kFramesSize)), fits,
                          full);
    builder_.SetInsertPoint(full);
    builder_.CreateStore(builder_.getInt32(kFramesExhausted), type_.address(builder_, context_, Context::kFault));
    builder_.CreateBr(done_);
    builder_.SetInsertPoint(fits);
  }

  // In a block of short rows there is nothing to gain by going in step: each work-item goes its own way from the start.
  void begin() {
    in_step_ = builder_.getTrue();
    bool has_steps = llvm::any_of(regions_, [](const Region& region) { return region.begins_step(); });
    if (!has_steps) {
      builder_.CreateBr(heads_[0]);
      return;
    }
    llvm::BasicBlock* small = block("small");
    diverged_ = block("diverged");
    llvm::Value* width = type_.load(builder_, context_, Context::kBlock, 0);
    in_step_ = builder_.CreateICmpUGE(width, builder_.getInt32(kFewestInStep));
    builder_.CreateCondBr(in_step_, heads_[0], small);
    builder_.SetInsertPoint(small);
    make_loop(builder_, exact_, nullptr, [&](llvm::Value* index) {
      builder_.CreateStore(builder_.getInt32(1), point_address(builder_, frames(), index));
    });
    builder_.CreateBr(diverged_);
  }

  llvm::BasicBlock* target(uint32_t point) {
    return point == kEnded ? done_ : heads_[(point & ~(kWaits | kYields)) - 1];
  }

  Frames frames() const { return {context_, frames_, count_, points_}; }

  // All work-items have come to where a region begins.
  void converge(const Collective& collective) {
    if (is_block_collective(collective.operation)) {
      compute_block_collective(builder_, collective, frames(), exact_, nullptr);
    } else if (is_yield(collective.operation)) {
      call_through_table(builder_, "yield", builder_.getVoidTy(), context_, builder_.getInt32(0),
                         {builder_.getInt32(0)});
    } else if (collective.result.slot) {
      for_each_wave(builder_, wave_size_, exact_, [&](llvm::Value* first) {
        compute_wave_collective(builder_, collective, frames(), wave_size_, first,
                                lanes_of_wave(builder_, wave_size_, first, exact_));
      });
    }
  }

  // All work-items, which are at the start of this region.
  void run_converged(uint32_t number) {
    const Region& region = regions_[number - 1];
    builder_.SetInsertPoint(heads_[number - 1]);
    if (region.collective) converge(*region.collective);
    std::vector<llvm::Value*> arguments = {context_, nullptr, nullptr, nullptr, frames_, count_, nullptr};
    for (auto [slot, variable] : uniform_) arguments.push_back(builder_.CreateLoad(slot->type, variable));
    if (region.diverges) {
      builder_.CreateStore(builder_.getInt32(~0u), low_);
      builder_.CreateStore(builder_.getInt32(0), high_);
    }
    for_each_item(builder_, context_, region.converged_loop->metadata(),
                  [&](llvm::Value* x, llvm::Value* y, llvm::Value* z, llvm::Value* index) {
                    arguments[1] = x, arguments[2] = y, arguments[3] = z, arguments[6] = index;
                    llvm::CallInst* result = builder_.CreateCall(region.converged, arguments);
                    result->addFnAttr(llvm::Attribute::AlwaysInline);
                    llvm::Value* point = builder_.CreateExtractValue(result, 0);
                    if (region.diverges) {
                      note_point(point, index, *region.converged_loop);
                    } else if (region.exits.size() > 1) {
                      builder_.CreateStore(point, result_point_);
                    }
                    if (!region.diverges) take_uniform(region, result);
                  });
    if (region.diverges) {
      go_on_if_converged(number);
    } else {
      go_on(region, region.exits.size() > 1 ? builder_.CreateLoad(builder_.getInt32Ty(), result_point_) : nullptr);
    }
  }

  // They stay converged, so any work-item's values will do: the last one's are left.
  void take_uniform(const Region& region, llvm::Value* result) {
    for (unsigned i = 0; i < uniform_.size(); ++i) {
      auto [slot, variable] = uniform_[i];
      if (region.written.count(slot)) builder_.CreateStore(builder_.CreateExtractValue(result, i + 1), variable);
    }
  }

  void note_point(llvm::Value* point, llvm::Value* index, const ParallelLoop& loop) {
    loop.mark(*builder_.CreateStore(point, point_address(builder_, frames(), index)));
    merge(low_, point, llvm::Intrinsic::umin);
    merge(high_, point, llvm::Intrinsic::umax);
  }

  void merge(llvm::Value* variable, llvm::Value* point, llvm::Intrinsic::ID how) {
    llvm::Value* old = builder_.CreateLoad(builder_.getInt32Ty(), variable);
    builder_.CreateStore(builder_.CreateBinaryIntrinsic(how, old, point), variable);
  }

  void go_on(const Region& region, llvm::Value* point) {
    // A region that never ends well (it traps) has no exit at all.
    llvm::BasicBlock* otherwise = region.exits.empty() ? done_ : target(*region.exits.begin());
    if (!point) {
      builder_.CreateBr(otherwise);
      return;
    }
    llvm::SwitchInst* next = builder_.CreateSwitch(point, otherwise);
    for (uint32_t exit : region.exits) {
      if (target(exit) != otherwise) next->addCase(builder_.getInt32(exit), target(exit));
    }
  }

  void go_on_if_converged(uint32_t number) {
    const Region& region = regions_[number - 1];
    llvm::Value* low = builder_.CreateLoad(builder_.getInt32Ty(), low_);
    llvm::Value* high = builder_.CreateLoad(builder_.getInt32Ty(), high_);
    llvm::BasicBlock* converged = block("converged");
    llvm::BasicBlock* diverge = block("diverge");
    if (!diverged_) diverged_ = block("diverged");
    builder_.CreateCondBr(builder_.CreateICmpEQ(low, high), converged, diverge);

    builder_.SetInsertPoint(converged);
    for (auto [slot, variable] : uniform_) {
      if (!region.written.count(slot)) continue;
      llvm::Value* first = slot_address(builder_, *slot, frames_, count_, builder_.getInt64(0));
      builder_.CreateStore(builder_.CreateLoad(slot->type, first), variable);
    }
    go_on(region, low);

    // From here on each has its own of what they had in common.
    builder_.SetInsertPoint(diverge);
    for_each_item(builder_, context_, nullptr, [&](llvm::Value*, llvm::Value*, llvm::Value*, llvm::Value* index) {
      for (auto [slot, variable] : uniform_) {
        if (region.written.count(slot)) continue;
        builder_.CreateStore(builder_.CreateLoad(slot->type, variable),
                             slot_address(builder_, *slot, frames_, count_, index));
      }
    });
    builder_.CreateBr(diverged_);
  }

  // Work-items that have diverged, until they have converged again.
  void run_diverged() {
    builder_.SetInsertPoint(diverged_);
    llvm::BasicBlock* rejoin = block("rejoin");
    DivergedBlock(module_, regions_, wave_size_)
        .emit(builder_, frames(), exact_, result_point_, done_, rejoin, in_step_);
    builder_.SetInsertPoint(rejoin);
    for (auto [slot, variable] : uniform_) {
      llvm::Value* first = slot_address(builder_, *slot, frames_, count_, builder_.getInt64(0));
      builder_.CreateStore(builder_.CreateLoad(slot->type, first), variable);
    }
    llvm::SwitchInst* next = builder_.CreateSwitch(builder_.CreateLoad(builder_.getInt32Ty(), result_point_), done_);
    for (uint32_t number = 2; number <= regions_.size(); ++number) {
      if (!is_block_collective(regions_[number - 1].collective->operation)) continue;
      next->addCase(builder_.getInt32(number | kWaits), heads_[number - 1]);
    }
  }

  llvm::Module& module_;
  std::vector<Region> regions_;
  const std::vector<Slot>& slots_;
  uint64_t bytes_per_item_;
  uint32_t wave_size_;
  uint64_t reserved_;  // bytes of the frames that are not the arrays'
  Context type_;
  llvm::IRBuilder<> builder_;
  llvm::Function* function_ = nullptr;
  llvm::Value *context_ = nullptr, *frames_ = nullptr, *points_ = nullptr, *exact_ = nullptr, *count_ = nullptr;
  llvm::Value *result_point_ = nullptr, *low_ = nullptr, *high_ = nullptr;
  llvm::Value* in_step_ = nullptr;  // i1
  std::vector<std::pair<const Slot*, llvm::AllocaInst*>> uniform_;
  std::vector<llvm::BasicBlock*> heads_;
  llvm::BasicBlock *done_ = nullptr, *diverged_ = nullptr;
};

}  // namespace

BlockCode make_loop_form(llvm::Module& module, llvm::Function& item, const bundle::KernelInfo& kernel,
                         uint32_t most_threads) {
  if (!item.hasFnAttribute(kKeepLocals) && most_threads >= kFewestInStep) step_through_loops(item);
  share_code(item);
  uint64_t reserved = reserved_for_waves(item);
  Regions regions(module, item);
  std::vector<Region> made = regions.make();
  bool of_waves = llvm::any_of(
      made, [](const Region& region) { return region.collective && is_wave_collective(region.collective->operation); });
  if (of_waves && kernel.wave_size != 32 && kernel.wave_size != 64) {
    throw Error::of("kernel '{}' has operations of waves of {} threads: the host device has those of 32 and of 64",
                    kernel.demangled, kernel.wave_size);
  }
  uint32_t keeps = made.size() > 1 ? kKeepsFrames : kKeepsNothing;
  uint32_t wave_size = of_waves ? kernel.wave_size : 64;
  return {&Schedule(module, std::move(made), regions.slots(), regions.bytes_per_item(), wave_size, reserved).make(),
          keeps};
}

}  // namespace mneme::codegen::host
