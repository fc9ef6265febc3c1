// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/forms/regions.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <algorithm>

#include "codegen/host/analysis/reachable.h"
#include "codegen/host/forms/coalesce.h"
#include "codegen/host/forms/lower.h"
#include "codegen/host/neutral/debug_information.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

std::vector<llvm::ReturnInst*> returns_of(llvm::Function& function) {
  std::vector<llvm::ReturnInst*> found;
  for (llvm::BasicBlock& block : function) {
    if (auto* back = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator())) found.push_back(back);
  }
  return found;
}

void end_block(llvm::BasicBlock& block, llvm::Instruction* end) {
  for (llvm::BasicBlock* successor : llvm::successors(&block)) successor->removePredecessor(&block);
  llvm::ReplaceInstWithInst(block.getTerminator(), end);
}

// Not to be computed twice: divisions, and mathematical functions.
bool is_dear(const llvm::Instruction& instruction) {
  if (instruction.getOpcode() == llvm::Instruction::FDiv || instruction.getOpcode() == llvm::Instruction::FRem)
    return true;
  auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
  if (operation && operation->isIntDivRem()) return !llvm::isa<llvm::Constant>(operation->getOperand(1));
  return llvm::isa<llvm::CallInst>(instruction) && instruction.getType()->isFPOrFPVectorTy();
}

uint32_t point_of(const llvm::ReturnInst& back) {
  return static_cast<uint32_t>(llvm::cast<llvm::ConstantInt>(back.getReturnValue())->getZExtValue());
}

}  // namespace

llvm::Value* slot_address(llvm::IRBuilderBase& builder, const Slot& slot, llvm::Value* frames, llvm::Value* count,
                          llvm::Value* index) {
  llvm::Value* offset = builder.CreateMul(count, builder.getInt64(slot.offset), "", true, true);
  llvm::Value* array = builder.CreateInBoundsGEP(builder.getInt8Ty(), frames, offset);
  llvm::Type* element = llvm::ArrayType::get(builder.getInt8Ty(), slot.stride);
  return builder.CreateInBoundsGEP(element, array, index);
}

Regions::Regions(llvm::Module& module, llvm::Function& item)
    : module_(module), item_(item), builder_(module.getContext()), collectives_(item) {
  gather_locals();
  hoist_what_each_region_can_compute();
  find_convergence_points();
  uniformity_ = std::make_unique<Uniformity>(item);
  cut_at_convergence_points();
  for (llvm::BasicBlock* start : starts_) {
    builder_.SetInsertPoint(&*start->getFirstNonPHIOrDbgOrAlloca());
    publish_item(builder_, item);
  }
  keep_values_across_regions();
  lay_out_slots();
}

// The kernel's local variables stand at the top of its entry block. How long they live is not for the
// stack's layout to use: they outlive the regions.
void Regions::gather_locals() {
  llvm::BasicBlock& entry = item_.getEntryBlock();
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(item_))) {
    if (instruction.isLifetimeStartOrEnd()) {
      instruction.eraseFromParent();
    } else if (auto* local = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
      if (llvm::isa<llvm::ConstantInt>(local->getArraySize())) local->moveBefore(entry, entry.begin());
    }
  }
}

// What depends only on the launch and on the work-item's index is computed anew in each region, not kept:
// it goes to the entry block, with which every region begins.
void Regions::hoist_what_each_region_can_compute() {
  entry_ = &item_.getEntryBlock();
  starts_.push_back(entry_->splitBasicBlock(&*entry_->getFirstNonPHIOrDbgOrAlloca(), "body"));
  llvm::Instruction* end = entry_->getTerminator();
  llvm::SmallPtrSet<llvm::Value*, 32> early;
  auto is_early = [&](llvm::Value* value) {
    return llvm::isa<llvm::Constant, llvm::Argument>(value) || early.contains(value);
  };
  for (llvm::Instruction& instruction : *entry_) early.insert(&instruction);
  llvm::ReversePostOrderTraversal<llvm::Function*> order(&item_);
  for (llvm::BasicBlock* block : order) {
    if (block == entry_) continue;
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(*block)) {
      if (llvm::isa<llvm::PHINode, llvm::AllocaInst>(instruction) || instruction.isTerminator()) continue;
      if (instruction.mayWriteToMemory()) continue;
      bool fixed = !instruction.mayReadFromMemory() || instruction.hasMetadata(llvm::LLVMContext::MD_invariant_load);
      if (!fixed || !llvm::all_of(instruction.operands(), is_early)) continue;
      if (is_dear(instruction) || !llvm::isSafeToSpeculativelyExecute(&instruction, end)) continue;
      instruction.moveBefore(end);
      early.insert(&instruction);
    }
  }
}

// Numbers convergence points, and lets operands and results of collectives go through local variables.
void Regions::find_convergence_points() {
  bool of_waves = llvm::any_of(operations_in(item_), [](auto& found) { return is_wave_collective(found.second); });
  std::optional<Uniformity> uniformity;
  if (of_waves) uniformity.emplace(item_);
  points_ = order_convergence_points(item_, uniformity ? &*uniformity : nullptr);
  auto of_wave = [](const ConvergencePoint& point) { return !is_block_collective(*point.operation); };
  std::sort(points_.begin(), points_.end(), [&](const ConvergencePoint& a, const ConvergencePoint& b) {
    return std::pair(of_wave(a), a.number) < std::pair(of_wave(b), b.number);
  });
  // Where nobody waits: first, so that lanes go on from there before others behind it converge.
  std::vector<ConvergencePoint> passages;
  for (auto& [call, operation] : operations_in(item_)) {
    if (is_step(operation) || is_joint(operation)) passages.push_back({call, operation, 0});
  }
  points_.insert(points_.begin(), passages.begin(), passages.end());
  for (ConvergencePoint& point : points_) {
    point.number = static_cast<uint32_t>(&point - points_.data()) + 2;
    collective_behind_.push_back(collectives_.replace(*point.call, *point.operation));
  }
}

// Each convergence point ends its block; the block behind it starts a region.
void Regions::cut_at_convergence_points() {
  std::map<llvm::CallInst*, const ConvergencePoint*> by_call;
  for (const ConvergencePoint& point : points_) by_call[point.call] = &point;
  starts_.resize(points_.size() + 1);
  for (auto& [call, operation] : operations_in(item_)) {  // in order within each block
    auto found = by_call.find(call);
    if (found == by_call.end()) continue;
    uint32_t number = found->second->number;
    llvm::BasicBlock* before = call->getParent();
    starts_[number - 1] = before->splitBasicBlock(call->getNextNode(), "region");
    call->eraseFromParent();
    exits_[before] = number | (is_block_collective(operation) ? kWaits : 0) | (is_yield(operation) ? kYields : 0);
    if (is_step(operation)) steps_.insert(number);
  }
}

// The convergence points that these blocks of a region lead to.
std::set<uint32_t> Regions::exits_of(const std::set<llvm::BasicBlock*>& blocks) {
  std::set<uint32_t> exits;
  for (llvm::BasicBlock* block : blocks) {
    if (exits_.count(block)) {
      exits.insert(exits_.lookup(block));
    } else if (llvm::isa<llvm::ReturnInst>(block->getTerminator())) {
      exits.insert(kEnded);
    }
  }
  return exits;
}

// Whether work-items that enter these blocks, a region, converged may leave them diverged.
bool Regions::may_diverge(const std::set<llvm::BasicBlock*>& blocks) {
  for (auto [branch, join] : uniformity_->divergent_branches()) {
    llvm::BasicBlock* fork = branch->getParent();
    if (!blocks.count(fork) || exits_.count(fork)) continue;
    std::set<llvm::BasicBlock*> ways;
    bool some_join = false;
    for (llvm::BasicBlock* next : llvm::successors(fork)) {
      ways.merge(reachable(next, join));
      some_join |= join && reachable(next, nullptr).count(join);
    }
    size_t outcomes = exits_of(ways).size() + (some_join ? 1 : 0);
    if (outcomes > 1) return true;
  }
  return false;
}

// Blocks that can be reached from a region's start without meeting `stop` or a convergence point.
std::set<llvm::BasicBlock*> Regions::reachable(llvm::BasicBlock* start, llvm::BasicBlock* stop) {
  return reachable_blocks(start, stop, [&](llvm::BasicBlock* block) { return exits_.count(block) > 0; });
}

// Whether a region can use the value without having computed it.
bool Regions::is_needed_across_regions(llvm::Instruction& value) {
  const std::set<llvm::BasicBlock*>& without = reached_without(value.getParent());
  return llvm::any_of(value.uses(), [&](llvm::Use& use) {
    auto* user = llvm::cast<llvm::Instruction>(use.getUser());
    auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
    return without.count(phi ? phi->getIncomingBlock(use) : user->getParent()) > 0;
  });
}

// Blocks that some region reaches without meeting `block`.
const std::set<llvm::BasicBlock*>& Regions::reached_without(llvm::BasicBlock* block) {
  auto [found, fresh] = reached_without_.try_emplace(block);
  if (fresh) {
    for (llvm::BasicBlock* start : starts_) found->second.merge(reachable(start, block));
  }
  return found->second;
}

// Such values go through local variables, and these, with the kernel's own, are what slots are for.
void Regions::keep_values_across_regions() {
  if (starts_.size() == 1) return;
  std::vector<llvm::Instruction*> values;
  for (llvm::Instruction& instruction : llvm::instructions(item_)) {
    bool computed_anew = instruction.getParent() == entry_;
    if (!computed_anew && !instruction.getType()->isVoidTy() && is_needed_across_regions(instruction)) {
      values.push_back(&instruction);
    }
  }
  for (llvm::Instruction& instruction : *entry_) {
    auto* local = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (!local) continue;
    // Whoever has its address may use it in a region that does not show it.
    bool in_memory = collectives_.owns(*local) || !llvm::isAllocaPromotable(local);
    slots_.push_back({local, local->getAllocatedType(), false, 0, 0, collectives_.owns(*local), in_memory});
  }
  auto groups = coalesce(values, [&](llvm::Instruction& a, llvm::Instruction& b) {
    return uniformity_->is_uniform(a) == uniformity_->is_uniform(b);
  });
  for (const std::vector<llvm::Instruction*>& group : groups) {
    bool uniform = uniformity_->is_uniform(*group.front());
    llvm::Type* type = group.front()->getType();
    llvm::AllocaInst* variable = nullptr;
    for (llvm::Instruction* value : group) {
      llvm::AllocaInst* own = llvm::DemoteRegToStack(*value, false, entry_->begin());
      if (variable) {
        own->replaceAllUsesWith(variable);
        own->eraseFromParent();
      } else {
        variable = own;
      }
    }
    slots_.push_back({variable, type, uniform, 0, 0, false, false});
  }
}

// Arrays follow each other; each is aligned because the count of work-items is rounded up.
void Regions::lay_out_slots() {
  const llvm::DataLayout& layout = module_.getDataLayout();
  for (Slot& slot : slots_) {
    uint64_t count = 1;
    if (auto* size = llvm::dyn_cast<llvm::ConstantInt>(slot.local->getArraySize())) count = size->getZExtValue();
    if (count > 1) slot.type = llvm::ArrayType::get(slot.type, count);
    slot.offset = bytes_per_item_;
    slot.stride = llvm::alignTo(layout.getTypeAllocSize(slot.type), slot.local->getAlign());
    bytes_per_item_ += slot.stride;
  }
  std::map<const llvm::AllocaInst*, const Slot*> by_local;
  for (const Slot& slot : slots_) by_local[slot.local] = &slot;
  for (Collective& collective : collective_behind_) {
    for (Operand* operand : {&collective.value, &collective.otherwise, &collective.lane, &collective.result}) {
      if (operand->local) operand->slot = by_local.at(operand->local);
    }
  }
}

std::vector<Region> Regions::make() {
  std::vector<Region> regions;
  bool diverge = !steps_.empty();
  for (uint32_t number = 1; number <= starts_.size(); ++number) {
    regions.push_back(make_region(number));
    diverge |= regions.back().diverges;
  }
  for (uint32_t number = 1; diverge && number <= starts_.size(); ++number) {
    Region& region = regions[number - 1];
    region.diverged = make_function(number, false, region);
    region.diverged_loop = mark_parallel(*region.diverged);
  }
  item_.eraseFromParent();
  return regions;
}

Region Regions::make_region(uint32_t number) {
  Region region;
  if (number > 1) region.collective = collective_behind_[number - 2];
  std::set<llvm::BasicBlock*> blocks = reachable(starts_[number - 1], nullptr);
  region.exits = exits_of(blocks);
  region.diverges = region.exits.size() > 1 && may_diverge(blocks);
  region.converged = make_function(number, true, region);
  region.converged_loop = mark_parallel(*region.converged);
  return region;
}

llvm::Function* Regions::make_function(uint32_t number, bool converged, Region& region) {
  llvm::Type* pointer = builder_.getPtrTy();
  llvm::Type* word = builder_.getInt32Ty();
  llvm::Type* wide = builder_.getInt64Ty();
  std::vector<llvm::Type*> parameters = {pointer, word, word, word, pointer, wide, wide};
  std::vector<llvm::Type*> results = {word};
  for (const Slot& slot : slots_) {
    if (!converged || !slot.uniform) continue;
    parameters.push_back(slot.type);
    results.push_back(slot.type);
  }
  // Built to return the convergence point alone; uniform values join it at the end.
  auto* type = llvm::FunctionType::get(llvm::StructType::get(module_.getContext(), results), parameters, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage,
                                          "mneme.region." + std::to_string(number), module_);
  function->setDoesNotThrow();
  Context(module_).mark(*function->getArg(0));
  constexpr const char* kNames[] = {"x", "y", "z", "frames", "count", "index"};
  for (unsigned i = 0; i < std::size(kNames); ++i) function->getArg(i + 1)->setName(kNames[i]);
  // Of the block function's parameter that is known; saying it again here would leave, inlined, a declaration of the
  // scope in the loop over work-items, which counts as an access that may depend on another iteration's.
  function->removeParamAttr(0, llvm::Attribute::NoAlias);

  llvm::ValueToValueMapTy map;
  for (unsigned i = 0; i < 4; ++i) map[item_.getArg(i)] = function->getArg(i);
  for (llvm::BasicBlock& block : item_) map[&block] = llvm::CloneBasicBlock(&block, map, "", function);
  for (llvm::Instruction& instruction : llvm::instructions(*function)) {
    const auto flags = llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals;
    llvm::RemapInstruction(&instruction, map, flags);
    llvm::RemapDbgRecordRange(&module_, instruction.getDbgRecordRange(), map, flags);
  }
  auto copy = [&](llvm::BasicBlock* block) { return llvm::cast<llvm::BasicBlock>(&*map[block]); };
  auto leave_for = [&](uint32_t point) {
    return llvm::ReturnInst::Create(module_.getContext(), builder_.getInt32(point));
  };
  for (llvm::ReturnInst* back : returns_of(*function)) llvm::ReplaceInstWithInst(back, leave_for(kEnded));
  for (auto [block, next] : exits_) {
    if (converged || !steps_.count(next)) end_block(*copy(block), leave_for(next));
  }
  if (number > 1) end_block(*copy(entry_), llvm::BranchInst::Create(copy(starts_[number - 1])));
  llvm::removeUnreachableBlocks(*function);

  Kept kept;
  unsigned parameter = 7;
  std::vector<llvm::AllocaInst*> uniform;
  for (const Slot& slot : slots_) {
    auto* local = llvm::cast<llvm::AllocaInst>(&*map[slot.local]);
    // Most are of other regions, where there are many.
    if (local->use_empty() && !(converged && slot.uniform)) continue;
    bool stored = llvm::any_of(local->users(), [&](llvm::User* user) {
      auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
      return store && store->getPointerOperand() == local;
    });
    if (slot.in_collective) {
      connect(*function, slot, *local, nullptr, nullptr);
      continue;
    }
    if (converged && stored) region.written.insert(&slot);
    llvm::Value* initial = nullptr;
    bool keep = stored;
    if (converged && slot.uniform) {
      initial = function->getArg(parameter++);
      uniform.push_back(local);
      keep &= region.diverges;
    } else if (number > 1 && !slot.in_memory) {
      builder_.SetInsertPoint(&*function->getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
      initial = builder_.CreateLoad(
          slot.type, slot_address(builder_, slot, function->getArg(4), function->getArg(5), function->getArg(6)));
    }
    connect(*function, slot, *local, initial, keep ? &kept : nullptr);
  }
  for (llvm::ReturnInst* back : returns_of(*function)) {
    builder_.SetInsertPoint(back);
    llvm::Value* result = llvm::PoisonValue::get(function->getReturnType());
    result = builder_.CreateInsertValue(result, builder_.getInt32(point_of(*back)), 0);
    for (unsigned i = 0; i < uniform.size(); ++i) {
      llvm::Value* value = builder_.CreateLoad(uniform[i]->getAllocatedType(), uniform[i]);
      result = builder_.CreateInsertValue(result, value, i + 1);
    }
    builder_.CreateRet(result);
    back->eraseFromParent();
  }
  std::vector<llvm::AllocaInst*> promotable;
  for (llvm::Instruction& instruction : function->getEntryBlock()) {
    auto* local = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (local && llvm::isAllocaPromotable(local)) promotable.push_back(local);
  }
  llvm::DominatorTree dominators(*function);
  if (item_.hasFnAttribute(kKeepLocals)) return function;
  llvm::PromoteMemToReg(promotable, dominators);
  // What is stored as it was loaded at the start. (What came as a uniform value is not there yet.)
  for (auto [store, initial] : kept) {
    if (llvm::isa_and_nonnull<llvm::LoadInst>(initial) && store->getValueOperand() == initial) store->eraseFromParent();
  }
  // Of what each region can compute, most is for others.
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::reverse(function->getEntryBlock()))) {
    if (llvm::isInstructionTriviallyDead(&instruction)) instruction.eraseFromParent();
  }
  return function;
}

// Lets a region's local variable be the work-item's element of its slot. One that fits a register begins
// with `initial` and, if it is to be kept, is stored where the region ends, so that in between it can be one. Those
// stores are added to `kept`.
void Regions::connect(llvm::Function& function, const Slot& slot, llvm::AllocaInst& local, llvm::Value* initial,
                      Kept* kept) {
  auto element = [&] {
    return slot_address(builder_, slot, function.getArg(4), function.getArg(5), function.getArg(6));
  };
  if (slot.in_memory) {
    builder_.SetInsertPoint(&*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    local.replaceAllUsesWith(element());
    return;
  }
  if (initial) {
    auto* made = llvm::dyn_cast<llvm::Instruction>(initial);
    builder_.SetInsertPoint(made ? made->getNextNode() : &*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    builder_.CreateStore(initial, &local);
  }
  if (!kept) return;
  for (llvm::ReturnInst* back : returns_of(function)) {
    if (point_of(*back) == kEnded) continue;  // nothing is kept of a work-item that ended
    builder_.SetInsertPoint(back);
    kept->emplace_back(builder_.CreateStore(builder_.CreateLoad(slot.type, &local), element()), initial);
  }
}

}  // namespace mneme::codegen::host
