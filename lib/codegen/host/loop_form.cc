// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A block as loops over its work-items, one for each region of code between two barriers.
//
// A region starts at the kernel's entry or behind a barrier, and ends at the barriers that can be reached
// next or at the kernel's end. It becomes a function that runs one work-item through it and tells
// where that got to. Values that live on from one region to another are kept in arrays with an element a
// work-item, so the loops over work-items vectorise. Usually all work-items arrive at the same place,
// and the next loop runs that region; where they did not, the block is finished in rounds in which each work-item
// runs the region that it is at. Either way a round ends when all have reached a barrier.
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <map>
#include <set>

#include "codegen/host/abi.h"
#include "codegen/host/item_loop.h"
#include "codegen/host/lower.h"
#include "codegen/host/neutral.h"
#include "codegen/host/parallel.h"

namespace mneme::codegen::host {
namespace {

constexpr uint32_t kEnded = 0;  // a work-item's place: ended, or the number of the region that it is to run next

// What is kept for each work-item from region to region.
struct Slot {
  llvm::AllocaInst* local;  // where the region's code works on it
  llvm::Type* type;
  uint64_t offset;  // bytes before its array, for each work-item of the block
};

// The work-item function, cut at its barriers.
class Regions {
 public:
  Regions(llvm::Module& module, llvm::Function& item) : module_(module), item_(item), builder_(module.getContext()) {
    gather_locals();
    hoist_what_each_region_can_compute();
    cut_at_barriers();
    keep_values_across_regions();
    lay_out_slots();
  }

  struct Region {
    llvm::Function* function = nullptr;  // i32 (context, x, y, z, frames, count, index)
    llvm::MDNode* loop = nullptr;
    std::set<uint32_t> exits;
  };

  // Region n is at n - 1.
  std::vector<Region> make() {
    std::vector<Region> regions;
    for (uint32_t number = 1; number <= starts_.size(); ++number) regions.push_back(make_region(number));
    item_.eraseFromParent();
    return regions;
  }

  uint64_t bytes_per_item() const { return bytes_per_item_; }

 private:
  // The kernel's local variables stand at the top of its entry block. How long they live is not for the
  // stack's layout to use: they outlive the regions.
  void gather_locals() {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(item_))) {
      if (instruction.isLifetimeStartOrEnd()) {
        instruction.eraseFromParent();
      } else if (auto* local = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
        if (llvm::isa<llvm::ConstantInt>(local->getArraySize()))
          local->moveBefore(item_.getEntryBlock(), item_.getEntryBlock().begin());
      }
    }
  }

  // What depends only on the launch and on the work-item's index is computed anew in each region, not kept:
  // it goes to the entry block, with which every region begins.
  void hoist_what_each_region_can_compute() {
    llvm::BasicBlock& entry = item_.getEntryBlock();
    llvm::BasicBlock* body = entry.splitBasicBlock(&*entry.getFirstNonPHIOrDbgOrAlloca(), "body");
    llvm::Instruction* end = entry.getTerminator();
    llvm::SmallPtrSet<llvm::Value*, 32> early;
    for (llvm::Instruction& instruction : entry) early.insert(&instruction);
    auto is_early = [&](llvm::Value* value) {
      return llvm::isa<llvm::Constant, llvm::Argument>(value) || early.contains(value);
    };
    llvm::ReversePostOrderTraversal<llvm::Function*> order(&item_);
    for (llvm::BasicBlock* block : order) {
      if (block == &entry) continue;
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(*block)) {
        if (llvm::isa<llvm::PHINode, llvm::AllocaInst>(instruction) || instruction.isTerminator()) continue;
        if (instruction.mayWriteToMemory()) continue;
        bool fixed = !instruction.mayReadFromMemory() || instruction.hasMetadata(llvm::LLVMContext::MD_invariant_load);
        if (!fixed || !llvm::all_of(instruction.operands(), is_early)) continue;
        if (!llvm::isSafeToSpeculativelyExecute(&instruction, end)) continue;
        instruction.moveBefore(end);
        early.insert(&instruction);
      }
    }
    entry_ = &entry;
    starts_.push_back(body);
  }

  // Each barrier ends its block; the block behind it starts a region.
  void cut_at_barriers() {
    for (auto& [call, operation] : operations_in(item_)) {
      if (operation.kind != OperationKind::kBarrier) continue;
      llvm::BasicBlock* before = call->getParent();
      llvm::BasicBlock* after = before->splitBasicBlock(call->getNextNode(), "region");
      call->eraseFromParent();
      exits_[before] = static_cast<uint32_t>(starts_.size() + 1);
      starts_.push_back(after);
    }
  }

  // Blocks that can be reached from a region's start without meeting `stop` or a barrier.
  std::set<llvm::BasicBlock*> reachable(llvm::BasicBlock* start, llvm::BasicBlock* stop) {
    std::set<llvm::BasicBlock*> seen;
    std::vector<llvm::BasicBlock*> work;
    auto visit = [&](llvm::BasicBlock* block) {
      if (block != stop && seen.insert(block).second) work.push_back(block);
    };
    visit(start);
    while (!work.empty()) {
      llvm::BasicBlock* block = work.back();
      work.pop_back();
      if (exits_.count(block)) continue;
      for (llvm::BasicBlock* next : llvm::successors(block)) visit(next);
    }
    return seen;
  }

  // Whether a region can use the value without having computed it.
  bool is_needed_across_regions(llvm::Instruction& value) {
    std::set<llvm::BasicBlock*> users;
    for (llvm::Use& use : value.uses()) {
      auto* user = llvm::cast<llvm::Instruction>(use.getUser());
      auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
      llvm::BasicBlock* block = phi ? phi->getIncomingBlock(use) : user->getParent();
      if (block != value.getParent()) users.insert(block);
    }
    if (users.empty()) return false;
    const std::set<llvm::BasicBlock*>& without = reached_without(value.getParent());
    return llvm::any_of(users, [&](llvm::BasicBlock* block) { return without.count(block) > 0; });
  }

  // Blocks that some region reaches without meeting `block`.
  const std::set<llvm::BasicBlock*>& reached_without(llvm::BasicBlock* block) {
    auto [found, fresh] = reached_without_.try_emplace(block);
    if (fresh) {
      for (llvm::BasicBlock* start : starts_) found->second.merge(reachable(start, block));
    }
    return found->second;
  }

  // Such values go through local variables, and these, with the kernel's own, are what slots are for.
  void keep_values_across_regions() {
    std::vector<llvm::Instruction*> values;
    for (llvm::Instruction& instruction : llvm::instructions(item_)) {
      if (instruction.getParent() != entry_ && !instruction.getType()->isVoidTy() && starts_.size() > 1 &&
          is_needed_across_regions(instruction)) {
        values.push_back(&instruction);
      }
    }
    for (llvm::Instruction* value : values) llvm::DemoteRegToStack(*value, false, entry_->begin());
    if (starts_.size() == 1) return;
    for (llvm::Instruction& instruction : *entry_) {
      auto* local = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
      if (local) slots_.push_back({local, local->getAllocatedType(), 0});
    }
  }

  // Arrays follow each other; each is aligned because the count of work-items is rounded up.
  void lay_out_slots() {
    const llvm::DataLayout& layout = module_.getDataLayout();
    for (Slot& slot : slots_) {
      uint64_t count = 1;
      if (auto* size = llvm::dyn_cast<llvm::ConstantInt>(slot.local->getArraySize())) count = size->getZExtValue();
      if (count > 1) slot.type = llvm::ArrayType::get(slot.type, count);
      slot.offset = bytes_per_item_;
      bytes_per_item_ += layout.getTypeAllocSize(slot.type);
    }
  }

  Region make_region(uint32_t number) {
    llvm::Type* pointer = builder_.getPtrTy();
    llvm::Type* word = builder_.getInt32Ty();
    llvm::Type* wide = builder_.getInt64Ty();
    auto* type = llvm::FunctionType::get(word, {pointer, word, word, word, pointer, wide, wide}, false);
    Region region;
    region.function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage,
                                             "mneme.region." + std::to_string(number), module_);
    region.function->setDoesNotThrow();
    Context(module_).mark(*region.function->getArg(0));
    llvm::ValueToValueMapTy map;
    for (unsigned i = 0; i < 4; ++i) map[item_.getArg(i)] = region.function->getArg(i);
    for (llvm::BasicBlock& block : item_) {
      map[&block] = llvm::CloneBasicBlock(&block, map, "", region.function);
    }
    for (llvm::Instruction& instruction : llvm::instructions(*region.function)) {
      llvm::RemapInstruction(&instruction, map, llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals);
    }
    auto copy = [&](llvm::BasicBlock* block) { return llvm::cast<llvm::BasicBlock>(&*map[block]); };
    llvm::BasicBlock* entry = copy(entry_);
    for (llvm::BasicBlock& block : llvm::make_early_inc_range(*region.function)) {
      llvm::Instruction* end = block.getTerminator();
      if (llvm::isa<llvm::ReturnInst>(end)) {
        llvm::ReplaceInstWithInst(end, llvm::ReturnInst::Create(module_.getContext(), builder_.getInt32(kEnded)));
      }
    }
    for (auto [block, next] : exits_) {
      llvm::BasicBlock* here = copy(block);
      for (llvm::BasicBlock* successor : llvm::successors(here)) successor->removePredecessor(here);
      llvm::ReplaceInstWithInst(here->getTerminator(),
                                llvm::ReturnInst::Create(module_.getContext(), builder_.getInt32(next)));
    }
    if (number > 1) {
      for (llvm::BasicBlock* successor : llvm::successors(entry)) successor->removePredecessor(entry);
      llvm::ReplaceInstWithInst(entry->getTerminator(), llvm::BranchInst::Create(copy(starts_[number - 1])));
    }
    llvm::removeUnreachableBlocks(*region.function);
    for (llvm::BasicBlock& block : *region.function) {
      if (auto* back = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator())) {
        region.exits.insert(
            static_cast<uint32_t>(llvm::cast<llvm::ConstantInt>(back->getReturnValue())->getZExtValue()));
      }
    }
    for (const Slot& slot : slots_) {
      connect(*region.function, slot, *llvm::cast<llvm::AllocaInst>(&*map[slot.local]), number > 1);
    }
    region.loop = mark_parallel(*region.function);
    return region;
  }

  // Lets a region's local variable be the work-item's element of its array. One that fits a register is
  // loaded where the region begins (unless nothing was stored yet) and stored where it ends, so that in
  // between it can be one.
  void connect(llvm::Function& function, const Slot& slot, llvm::AllocaInst& local, bool loaded) {
    if (local.use_empty()) {
      local.eraseFromParent();
      return;
    }
    builder_.SetInsertPoint(&*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    llvm::Value* array = builder_.CreateInBoundsGEP(
        builder_.getInt8Ty(), function.getArg(4),
        builder_.CreateMul(function.getArg(5), builder_.getInt64(slot.offset), "", true, true));
    llvm::Value* element = builder_.CreateInBoundsGEP(slot.type, array, function.getArg(6));
    if (!llvm::isAllocaPromotable(&local)) {
      local.replaceAllUsesWith(element);
      local.eraseFromParent();
      return;
    }
    bool stored = llvm::any_of(local.users(), [](llvm::User* user) { return llvm::isa<llvm::StoreInst>(user); });
    if (loaded) builder_.CreateStore(builder_.CreateLoad(slot.type, element), &local);
    if (stored) {
      for (llvm::BasicBlock& block : function) {
        auto* back = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
        // Nothing is kept of a work-item that ended.
        if (!back || llvm::cast<llvm::ConstantInt>(back->getReturnValue())->isZero()) continue;
        builder_.SetInsertPoint(back);
        builder_.CreateStore(builder_.CreateLoad(slot.type, &local), element);
      }
    }
    llvm::DominatorTree dominators(function);
    llvm::PromoteMemToReg({&local}, dominators);
  }

  llvm::Module& module_;
  llvm::Function& item_;
  llvm::IRBuilder<> builder_;
  llvm::BasicBlock* entry_ = nullptr;
  std::vector<llvm::BasicBlock*> starts_;               // of region n at n - 1
  llvm::MapVector<llvm::BasicBlock*, uint32_t> exits_;  // blocks that end at a barrier, and the region behind it
  std::map<llvm::BasicBlock*, std::set<llvm::BasicBlock*>> reached_without_;
  std::vector<Slot> slots_;
  uint64_t bytes_per_item_ = 0;
};

// `void mneme.run_block(ptr context)`: which region's loop runs when.
class Schedule {
 public:
  Schedule(llvm::Module& module, std::vector<Regions::Region> regions, uint64_t bytes_per_item)
      : module_(module),
        regions_(std::move(regions)),
        bytes_per_item_(bytes_per_item),
        type_(module),
        builder_(module.getContext()) {}

  llvm::Function& make() {
    function_ = &declare_block_function(module_);
    context_ = function_->getArg(0);
    builder_.SetInsertPoint(&function_->getEntryBlock());
    done_ = block("done");
    if (regions_.size() > 1) {
      reserve();
    } else {
      frames_ = llvm::ConstantPointerNull::get(builder_.getPtrTy());
      count_ = builder_.getInt64(0);
    }
    for (size_t i = 0; i < regions_.size(); ++i) heads_.push_back(block("region"));
    builder_.CreateBr(heads_[0]);
    for (uint32_t number = 1; number <= regions_.size(); ++number) run_region(number);
    if (apart_) finish_apart();
    builder_.SetInsertPoint(done_);
    builder_.CreateRetVoid();
    return *function_;
  }

 private:
  static constexpr uint64_t kAlign = 64;

  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(module_.getContext(), name, function_); }

  // The arrays, and one that says where each work-item is.
  void reserve() {
    llvm::Value* exact = count_items(builder_, context_);
    count_ =
        builder_.CreateAnd(builder_.CreateAdd(exact, builder_.getInt64(kAlign - 1)), builder_.getInt64(~(kAlign - 1)));
    frames_ = type_.load(builder_, context_, Context::kFrames);
    places_ = builder_.CreateGEP(builder_.getInt8Ty(), frames_,
                                 builder_.CreateMul(count_, builder_.getInt64(bytes_per_item_)));
    llvm::Value* needed = builder_.CreateMul(count_, builder_.getInt64(bytes_per_item_ + sizeof(uint32_t)));
    llvm::BasicBlock* fits = block("fits");
    llvm::BasicBlock* full = block("full");
    builder_.CreateCondBr(builder_.CreateICmpULE(needed, type_.load(builder_, context_, Context::kFramesSize)), fits,
                          full);
    builder_.SetInsertPoint(full);
    builder_.CreateStore(builder_.getInt32(kFramesExhausted), type_.address(builder_, context_, Context::kFault));
    builder_.CreateBr(done_);
    builder_.SetInsertPoint(fits);
  }

  llvm::BasicBlock* target(uint32_t place) { return place == kEnded ? done_ : heads_[place - 1]; }

  llvm::CallInst* call_region(uint32_t number, llvm::Value* x, llvm::Value* y, llvm::Value* z, llvm::Value* index,
                              llvm::Attribute::AttrKind inlining) {
    llvm::CallInst* call =
        builder_.CreateCall(regions_[number - 1].function, {context_, x, y, z, frames_, count_, index});
    call->addFnAttr(inlining);
    return call;
  }

  llvm::Value* place_of(llvm::Value* index) {
    return builder_.CreateInBoundsGEP(builder_.getInt32Ty(), places_, index);
  }

  void run_region(uint32_t number) {
    const Regions::Region& region = regions_[number - 1];
    builder_.SetInsertPoint(heads_[number - 1]);
    bool one_way = region.exits.size() <= 1;
    llvm::Value* low = nullptr;
    llvm::Value* high = nullptr;
    if (!one_way) {
      llvm::IRBuilder<> entry(&*function_->getEntryBlock().begin());
      low = entry.CreateAlloca(builder_.getInt32Ty());
      high = entry.CreateAlloca(builder_.getInt32Ty());
      builder_.CreateStore(builder_.getInt32(~0u), low);
      builder_.CreateStore(builder_.getInt32(0), high);
    }
    for_each_item(builder_, context_, region.loop,
                  [&](llvm::Value* x, llvm::Value* y, llvm::Value* z, llvm::Value* index) {
                    llvm::Value* place = call_region(number, x, y, z, index, llvm::Attribute::AlwaysInline);
                    if (one_way) return;
                    llvm::StoreInst* store = builder_.CreateStore(place, place_of(index));
                    mark_as_parallel(*store, region.loop);
                    merge(low, place, llvm::Intrinsic::umin);
                    merge(high, place, llvm::Intrinsic::umax);
                  });
    if (one_way) {
      // A region that never ends well (it traps) has no exit at all.
      builder_.CreateBr(region.exits.empty() ? done_ : target(*region.exits.begin()));
      return;
    }
    llvm::Value* first = builder_.CreateLoad(builder_.getInt32Ty(), low);
    llvm::Value* last = builder_.CreateLoad(builder_.getInt32Ty(), high);
    llvm::BasicBlock* together = block("together");
    if (!apart_) apart_ = block("apart");
    builder_.CreateCondBr(builder_.CreateICmpEQ(first, last), together, apart_);
    builder_.SetInsertPoint(together);
    llvm::BasicBlock* otherwise = target(*region.exits.begin());
    llvm::SwitchInst* next = builder_.CreateSwitch(first, otherwise);
    for (uint32_t place : region.exits) {
      if (target(place) != otherwise) next->addCase(builder_.getInt32(place), target(place));
    }
  }

  void merge(llvm::Value* variable, llvm::Value* place, llvm::Intrinsic::ID how) {
    llvm::Value* old = builder_.CreateLoad(builder_.getInt32Ty(), variable);
    builder_.CreateStore(builder_.CreateBinaryIntrinsic(how, old, place), variable);
  }

  void mark_as_parallel(llvm::Instruction& access, llvm::MDNode* loop) {
    auto* parallel = llvm::cast<llvm::MDNode>(loop->getOperand(1));
    access.setMetadata(llvm::LLVMContext::MD_access_group, llvm::cast<llvm::MDNode>(parallel->getOperand(1)));
  }

  // Work-items at different places: rounds in which each runs the region that it is at, until all have ended.
  void finish_apart() {
    builder_.SetInsertPoint(apart_);
    llvm::IRBuilder<> entry(&*function_->getEntryBlock().begin());
    llvm::Value* waiting = entry.CreateAlloca(builder_.getInt32Ty());
    builder_.CreateStore(builder_.getInt32(0), waiting);
    for_each_item(builder_, context_, nullptr, [&](llvm::Value* x, llvm::Value* y, llvm::Value* z, llvm::Value* index) {
      llvm::BasicBlock* next = block("next");
      llvm::SwitchInst* where =
          builder_.CreateSwitch(builder_.CreateLoad(builder_.getInt32Ty(), place_of(index)), next);
      for (uint32_t number = 1; number <= regions_.size(); ++number) {
        llvm::BasicBlock* here = block("at");
        where->addCase(builder_.getInt32(number), here);
        builder_.SetInsertPoint(here);
        llvm::Value* place = call_region(number, x, y, z, index, llvm::Attribute::NoInline);
        builder_.CreateStore(place, place_of(index));
        merge(waiting, place, llvm::Intrinsic::umax);
        builder_.CreateBr(next);
      }
      builder_.SetInsertPoint(next);
    });
    llvm::Value* all_ended = builder_.CreateIsNull(builder_.CreateLoad(builder_.getInt32Ty(), waiting));
    builder_.CreateCondBr(all_ended, done_, apart_);
  }

  llvm::Module& module_;
  std::vector<Regions::Region> regions_;
  uint64_t bytes_per_item_;
  Context type_;
  llvm::IRBuilder<> builder_;
  llvm::Function* function_ = nullptr;
  llvm::Value *context_ = nullptr, *frames_ = nullptr, *places_ = nullptr, *count_ = nullptr;
  std::vector<llvm::BasicBlock*> heads_;
  llvm::BasicBlock *done_ = nullptr, *apart_ = nullptr;
};

}  // namespace

llvm::Function& make_loop_form(llvm::Module& module, llvm::Function& item) {
  Regions regions(module, item);
  uint64_t bytes_per_item = regions.bytes_per_item();
  return Schedule(module, regions.make(), bytes_per_item).make();
}

}  // namespace mneme::codegen::host
