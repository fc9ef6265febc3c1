// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/overwrites.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "codegen/host/neutral.h"
#include "codegen/host/reachable.h"

namespace mneme::codegen::host {
namespace {

std::optional<Operation> operation_at(const llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  if (!call || !call->getCalledFunction()) return std::nullopt;
  return operation_of(*call->getCalledFunction());
}

bool is_meeting(const llvm::Instruction& instruction) {
  auto operation = operation_at(instruction);
  return operation && (is_block_place(*operation) || is_wave_place(*operation));
}

// A fixed piece of shared memory, and who reads or writes it.
struct Access {
  llvm::Instruction* instruction;
  const llvm::GlobalVariable* variable;
  int64_t begin, end;

  bool overlaps(const Access& other) const {
    return variable == other.variable && begin < other.end && other.begin < end;
  }
};

// The one value that a local variable is given, besides the zeros that it begins with (define_locals.h), or null.
// Unoptimised code keeps pointers in them.
llvm::Value* only_value(llvm::AllocaInst& local) {
  llvm::Value* value = nullptr;
  for (llvm::User* user : local.users()) {
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(user);
    if (call && (call->isLifetimeStartOrEnd() || llvm::isa<llvm::MemSetInst>(call))) continue;
    auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
    if (!store && !llvm::isa<llvm::LoadInst>(user)) return nullptr;
    if (store && (value || store->getPointerOperand() != &local)) return nullptr;
    if (store) value = store->getValueOperand();
  }
  return value;
}

std::optional<Access> access_at(llvm::Instruction& instruction, const llvm::DataLayout& layout) {
  llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
  if (!pointer || instruction.isVolatile() || instruction.isAtomic()) return std::nullopt;
  llvm::APInt offset(64, 0);
  for (;;) {
    pointer = pointer->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true);
    auto* load = llvm::dyn_cast<llvm::LoadInst>(pointer);
    auto* local = load ? llvm::dyn_cast<llvm::AllocaInst>(load->getPointerOperand()) : nullptr;
    llvm::Value* value = local ? only_value(*local) : nullptr;
    if (!value || !value->getType()->isPointerTy()) break;
    pointer = value;
  }
  auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(pointer);
  if (!variable) return std::nullopt;
  MemoryClass memory = memory_class(*variable);
  if (memory != MemoryClass::kShared && memory != MemoryClass::kSharedDynamic) return std::nullopt;
  int64_t begin = offset.getSExtValue();
  auto size = static_cast<int64_t>(layout.getTypeStoreSize(llvm::getLoadStoreType(&instruction)).getFixedValue());
  return Access{&instruction, variable, begin, begin + size};
}

// Whether a value is made of what differs by thread. (Not: by the way that was taken to it.)
bool differs(const llvm::Value* value) {
  llvm::SmallSetVector<const llvm::Value*, 16> made_of;
  made_of.insert(value);
  for (size_t i = 0; i < made_of.size(); ++i) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(made_of[i]);
    if (!instruction) continue;
    if (auto operation = operation_at(*instruction)) {
      if (operation->kind == OperationKind::kQuery) {
        if (operation->query == Query::kLocalId) return true;
        continue;
      }
      if (operation->kind == OperationKind::kBarrierCount) continue;
    }
    if (auto* local = llvm::dyn_cast<llvm::AllocaInst>(instruction)) {
      for (const llvm::User* user : local->users()) made_of.insert(user);
    } else if (instruction->mayWriteToMemory() && !llvm::isa<llvm::StoreInst>(instruction)) {
      return true;  // each has a turn of its own
    }
    made_of.insert(instruction->op_begin(), instruction->op_end());
  }
  return false;
}

class Overwrites {
 public:
  explicit Overwrites(llvm::Function& function) : function_(function) {}

  void meet() {
    gather();
    if (loads_.empty()) return;
    ways_.recalculate(function_);
    joins_.recalculate(function_);
    find_guards();
    llvm::SetVector<llvm::Instruction*> before;
    for (const Access& load : loads_) {
      llvm::SmallPtrSet<llvm::Instruction*, 4> reached = stores_reached(load);
      for (const Access& store : stores_) {
        if (reached.contains(store.instruction) && by_more_than_one(load, store)) before.insert(store.instruction);
      }
    }
    for (llvm::Instruction* store : before) {
      llvm::IRBuilder<> builder(store);
      call_wave_meet(builder);
    }
  }

 private:
  // Stores to fixed places, and the loads from what they write.
  void gather() {
    const llvm::DataLayout& layout = function_.getParent()->getDataLayout();
    for (llvm::Instruction& instruction : llvm::instructions(function_)) {
      auto access = access_at(instruction, layout);
      if (!access) continue;
      (llvm::isa<llvm::StoreInst>(instruction) ? stores_ : loads_).push_back(*access);
    }
    llvm::erase_if(loads_, [&](const Access& load) {
      return llvm::none_of(stores_, [&](const Access& store) { return store.overlaps(load); });
    });
  }

  // The sides of branches that only some threads take. Where one side only ends, all who are left take the other.
  void find_guards() {
    for (llvm::BasicBlock& block : function_) {
      auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
      if (!branch || !branch->isConditional() || !differs(branch->getCondition())) continue;
      if (llvm::any_of(llvm::successors(&block), [](llvm::BasicBlock* side) { return only_ends(side); })) continue;
      for (llvm::BasicBlock* side : llvm::successors(&block)) {
        if (!joins_.dominates(side, &block)) guards_.emplace_back(&block, side);
      }
    }
  }

  static bool only_ends(llvm::BasicBlock* side) {
    return llvm::none_of(reachable_blocks(side, nullptr), [](llvm::BasicBlock* block) {
      return llvm::any_of(*block, [](llvm::Instruction& instruction) { return is_meeting(instruction); });
    });
  }

  bool guards(const llvm::BasicBlockEdge& guard, const Access& access) const {
    return ways_.dominates(guard, access.instruction->getParent());
  }

  // Whether threads other than the one that stores have read, as far as branches tell.
  bool by_more_than_one(const Access& load, const Access& store) const {
    if (!store.overlaps(load)) return false;
    bool any = false, all = true, more = false;
    for (const llvm::BasicBlockEdge& guard : guards_) {
      bool of_load = guards(guard, load), of_store = guards(guard, store);
      any |= of_load;
      all &= !of_load || of_store;
      more |= of_store && !of_load;
    }
    return all && (more || !any);
  }

  // The stores that a thread may come to from a load before it meets others.
  llvm::SmallPtrSet<llvm::Instruction*, 4> stores_reached(const Access& load) const {
    llvm::SmallPtrSet<llvm::Instruction*, 4> reached;
    llvm::SmallPtrSet<llvm::BasicBlock*, 16> seen;
    llvm::SmallVector<llvm::Instruction*, 16> starts = {load.instruction->getNextNode()};
    while (!starts.empty()) {
      llvm::Instruction* at = starts.pop_back_val();
      llvm::BasicBlock* block = at->getParent();
      for (; at && !is_meeting(*at); at = at->getNextNode()) {
        if (llvm::isa<llvm::StoreInst>(at)) reached.insert(at);
      }
      if (at) continue;
      for (llvm::BasicBlock* next : llvm::successors(block)) {
        if (seen.insert(next).second) starts.push_back(&next->front());
      }
    }
    return reached;
  }

  llvm::Function& function_;
  llvm::DominatorTree ways_;
  llvm::PostDominatorTree joins_;
  std::vector<Access> loads_, stores_;
  std::vector<llvm::BasicBlockEdge> guards_;
};

}  // namespace

void meet_before_overwriting(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) Overwrites(function).meet();
  }
}

}  // namespace mneme::codegen::host
