// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/sync/wait_loops.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>

#include "codegen/host/analysis/reachable.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

using Values = llvm::SmallSetVector<llvm::Value*, 16>;
using Objects = llvm::SmallVector<const llvm::Value*, 4>;

Objects objects_of(const llvm::Value* pointer) {
  Objects objects;
  llvm::getUnderlyingObjects(pointer, objects, nullptr, 0);
  return objects;
}

bool is_shared(const llvm::Value* object) {
  auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(object);
  return variable && is_blocks_own(*variable);
}

bool is_local(const llvm::Value* object) { return llvm::isa<llvm::AllocaInst>(object); }

llvm::Value* condition_of(const llvm::BasicBlock& block) {
  const llvm::Instruction* end = block.getTerminator();
  if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(end)) {
    return branch->isConditional() ? branch->getCondition() : nullptr;
  }
  auto* choice = llvm::dyn_cast<llvm::SwitchInst>(end);
  return choice ? choice->getCondition() : nullptr;
}

llvm::Value* without_casts(llvm::Value* value) {
  while (auto* cast = llvm::dyn_cast<llvm::CastInst>(value)) value = cast->getOperand(0);
  return value;
}

// What a loop's exits depend on.
class LoopExits {
 public:
  LoopExits(const llvm::Loop& loop, const llvm::DominatorTree& dominators) : loop_(loop), dominators_(dominators) {
    for (llvm::BasicBlock* block : loop.blocks()) {
      for (llvm::Instruction& instruction : *block) {
        has_fence_ |= llvm::isa<llvm::FenceInst>(instruction);
        if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) add_store(*store);
        auto operation = operation_at(instruction);
        if (!operation) continue;
        has_barrier_ |= is_block_collective(*operation);
        has_fence_ |= operation->kind == OperationKind::kWaveSync;  // or it was one
      }
    }
    llvm::SmallVector<llvm::BasicBlock*, 8> exiting;
    loop.getExitingBlocks(exiting);
    for (llvm::BasicBlock* block : exiting) {
      follow_condition(*block);
      follow_ways(block, nullptr);
    }
    for (size_t i = 0; i < followed_.size(); ++i) visit(*llvm::cast<llvm::Instruction>(followed_[i]));
  }

  WaitsFor waits_for() const { return waits_for_; }

  // Whether a lane that stays in the loop would leave it if it looked again as others leave: each exit depends on loads
  // from places that are the same for all lanes, and otherwise on uniform values.
  bool leaves_together(const Uniformity& uniformity) const {
    return llvm::all_of(followed_, [&](llvm::Value* value) {
      if (uniformity.is_uniform(*value)) return true;
      if (auto* load = llvm::dyn_cast<llvm::LoadInst>(value)) return uniformity.is_uniform(*load->getPointerOperand());
      auto* instruction = llvm::cast<llvm::Instruction>(value);
      if (llvm::isa<llvm::PHINode>(value) || instruction->mayReadOrWriteMemory()) return false;
      return llvm::all_of(instruction->operands(), [&](llvm::Value* operand) {
        return followed_.contains(operand) || uniformity.is_uniform(*operand);
      });
    });
  }

 private:
  bool inside(llvm::Value* value) const {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    return instruction && loop_.contains(instruction);
  }

  void follow(llvm::Value* value) {
    if (inside(value)) followed_.insert(value);
  }
  void follow_condition(const llvm::BasicBlock& block) {
    if (llvm::Value* condition = condition_of(block)) follow(condition);
  }

  void add_store(llvm::StoreInst& store) {
    Objects objects = objects_of(store.getPointerOperand());
    if (llvm::all_of(objects, is_local) || llvm::all_of(objects, is_shared)) stores_.emplace_back(&store, objects);
  }

  void visit(llvm::Instruction& value) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&value)) {
      visit_load(*load);
    } else if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&value)) {
      if (repeats(*update) && !moves(update->getPointerOperand(), true)) note(update->getPointerOperand());
    } else if (auto* swap = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&value)) {
      if (!is_retried(*swap) && !moves(swap->getPointerOperand(), true)) note(swap->getPointerOperand());
    } else if (auto* comparison = llvm::dyn_cast<llvm::CmpInst>(&value)) {
      visit_comparison(*comparison);
    } else {
      for (llvm::Value* operand : value.operands()) follow(operand);
      if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&value)) follow_ways_to(*phi);
    }
  }

  void visit_load(llvm::LoadInst& load) {
    auto objects = objects_of(load.getPointerOperand());
    bool local = llvm::all_of(objects, is_local);
    if (!local && (load.isVolatile() || load.isAtomic() || has_fence_)) {
      if (!moves(load.getPointerOperand(), false)) note(load.getPointerOperand());
    }
    // What the loop itself brought there.
    if (!local && !llvm::all_of(objects, is_shared)) return;
    for (auto& [store, changed] : stores_) {
      if (changed != objects) continue;
      follow(store->getValueOperand());
      follow_ways(store->getParent(), nullptr);
    }
  }

  // Neither an index that grows nor a retried exchange's success is waited for.
  void visit_comparison(llvm::CmpInst& comparison) {
    llvm::Value *left = comparison.getOperand(0), *right = comparison.getOperand(1);
    if (steps(left) || steps(right) || tells_success(left, right) || tells_success(right, left)) return;
    follow(left);
    follow(right);
  }

  // Which of its values a phi has depends on the branches since the ways to it parted.
  void follow_ways_to(llvm::PHINode& phi) {
    const llvm::BasicBlock* block = phi.getParent();
    llvm::SmallPtrSet<llvm::BasicBlock*, 4> ways;
    for (llvm::BasicBlock* way : phi.blocks()) {
      if (loop_.contains(way)) ways.insert(way);
    }
    if (ways.size() < 2) return;
    const llvm::DomTreeNode* parted = dominators_.getNode(block)->getIDom();
    for (llvm::BasicBlock* way : ways) {
      follow_condition(*way);
      if (way != parted->getBlock()) follow_ways(way, parted->getBlock());
    }
  }

  // Whether a way from one block of the loop to its next round leaves out another.
  bool may_miss(llvm::BasicBlock* from, llvm::BasicBlock* left_out) const {
    auto leaves = [&](llvm::BasicBlock* block) { return !loop_.contains(block); };
    return llvm::any_of(llvm::successors(from), [&](llvm::BasicBlock* next) {
      return reachable_blocks(next, left_out, leaves).contains(loop_.getHeader());
    });
  }

  // What had to hold to get from a block of the loop, `from` if not null, to another.
  void follow_ways(llvm::BasicBlock* to, const llvm::BasicBlock* from) {
    for (const llvm::DomTreeNode* node = dominators_.getNode(to)->getIDom(); node; node = node->getIDom()) {
      if (!loop_.contains(node->getBlock())) break;
      if (may_miss(node->getBlock(), to)) follow_condition(*node->getBlock());
      if (node->getBlock() == from) break;
    }
  }

  void note(const llvm::Value* pointer) {
    auto objects = objects_of(pointer);
    if (llvm::all_of(objects, is_local)) return;
    if (!llvm::all_of(objects, is_shared)) {
      waits_for_ = WaitsFor::kGrid;
    } else if (waits_for_ == WaitsFor::kNobody && !has_barrier_) {  // at a barrier the others go on
      waits_for_ = WaitsFor::kBlock;
    }
  }

  // Leaves the same in memory the second time.
  bool repeats(llvm::AtomicRMWInst& update) const {
    llvm::Value* operand = update.getValOperand();
    switch (update.getOperation()) {
      case llvm::AtomicRMWInst::Add:
      case llvm::AtomicRMWInst::Sub:
      case llvm::AtomicRMWInst::Xor:
        return llvm::PatternMatch::match(operand, llvm::PatternMatch::m_Zero());
      case llvm::AtomicRMWInst::FAdd:
      case llvm::AtomicRMWInst::FSub:
        return llvm::PatternMatch::match(operand, llvm::PatternMatch::m_AnyZeroFP());
      case llvm::AtomicRMWInst::UIncWrap:
      case llvm::AtomicRMWInst::UDecWrap:
        return false;
      default:
        return !inside(operand);
    }
  }

  // Expects what was read in the same loop.
  bool is_retried(llvm::AtomicCmpXchgInst& swap) const {
    Values from = made_of(swap.getCompareOperand(), false);
    return llvm::any_of(from, [](llvm::Value* value) {
      return llvm::isa<llvm::AtomicCmpXchgInst, llvm::AtomicRMWInst, llvm::LoadInst>(value);
    });
  }

  // Whether `value` equals `expected` if, and only if, a retried exchange took place.
  bool tells_success(llvm::Value* value, llvm::Value* expected) const {
    value = without_casts(value);
    expected = without_casts(expected);
    auto* phi = llvm::dyn_cast<llvm::PHINode>(value);
    llvm::SmallVector<llvm::Value*, 2> sources;
    if (phi) {
      sources.append(phi->value_op_begin(), phi->value_op_end());
    } else {
      sources.push_back(value);
    }
    bool any = false;
    for (llvm::Value* source : sources) {
      auto* member = llvm::dyn_cast<llvm::ExtractValueInst>(source);
      auto* swap = member ? llvm::dyn_cast<llvm::AtomicCmpXchgInst>(member->getAggregateOperand()) : nullptr;
      if (swap && inside(swap) && without_casts(swap->getCompareOperand()) == expected && is_retried(*swap)) {
        any = true;
      } else if (without_casts(source) != expected) {
        return false;
      }
    }
    return any;
  }

  // The values in the loop that this one is computed from; with `addresses`, those of loads too.
  Values made_of(llvm::Value* value, bool addresses) const {
    Values from;
    auto add = [&](llvm::Value* source) {
      if (inside(source)) from.insert(source);
    };
    add(value);
    for (size_t i = 0; i < from.size(); ++i) {
      auto* source = llvm::cast<llvm::Instruction>(from[i]);
      if (source->mayReadFromMemory() && !addresses) continue;
      for (llvm::Value* operand : source->operands()) add(operand);
    }
    return from;
  }

  // An address that is another one each time round. One that goes round a table comes back: a compare-and-swap that
  // looks for its place there will find one, but a load may wait for something to come.
  bool moves(llvm::Value* pointer, bool round) const {
    return llvm::any_of(made_of(pointer, true), [&](llvm::Value* value) {
      auto* phi = llvm::dyn_cast<llvm::PHINode>(value);
      if (!phi || phi->getParent() != loop_.getHeader()) return false;
      return round ? !may_stay(*phi) : steps(phi) || is_read(*phi);
    });
  }

  // A header's phi, or what it is next: plus something each time.
  bool steps(llvm::Value* value) const {
    value = without_casts(value);
    auto steps_by = [&](llvm::Value* next, const llvm::PHINode& phi) {
      auto* made = llvm::dyn_cast<llvm::Instruction>(without_casts(next));
      if (!made || !(made->isBinaryOp() || llvm::isa<llvm::GetElementPtrInst>(made))) return false;
      if (made->getOpcode() == llvm::Instruction::URem || made->getOpcode() == llvm::Instruction::SRem ||
          made->isBitwiseLogicOp()) {
        return false;
      }
      unsigned itself = 0;
      for (llvm::Value* operand : made->operands()) {
        if (without_casts(operand) == &phi) {
          ++itself;
        } else if (inside(operand)) {
          return false;
        }
      }
      return itself == 1;
    };
    for (llvm::PHINode& phi : loop_.getHeader()->phis()) {
      bool all = true, found = value == &phi;
      for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
        if (!loop_.contains(phi.getIncomingBlock(i))) continue;
        all &= steps_by(phi.getIncomingValue(i), phi);
        found |= without_casts(phi.getIncomingValue(i)) == value;
      }
      if (all && found) return true;
    }
    return false;
  }

  // Always what was read in the loop: the next of a list.
  bool is_read(const llvm::PHINode& phi) const {
    for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
      if (!loop_.contains(phi.getIncomingBlock(i))) continue;
      if (!llvm::isa<llvm::LoadInst>(without_casts(phi.getIncomingValue(i)))) return false;
    }
    return true;
  }

  // Whether a header's phi may keep its value round the loop.
  bool may_stay(llvm::PHINode& phi) const {
    llvm::SmallSetVector<llvm::Value*, 8> passed;
    auto add_sources = [&](llvm::PHINode& of) {
      for (unsigned i = 0; i < of.getNumIncomingValues(); ++i) {
        if (loop_.contains(of.getIncomingBlock(i))) passed.insert(of.getIncomingValue(i));
      }
    };
    add_sources(phi);
    for (size_t i = 0; i < passed.size(); ++i) {
      llvm::Value* value = passed[i];
      if (value == &phi) return true;
      if (auto* other = llvm::dyn_cast<llvm::PHINode>(value); other && inside(other)) add_sources(*other);
      if (auto* choice = llvm::dyn_cast<llvm::SelectInst>(value)) {
        passed.insert(choice->getTrueValue());
        passed.insert(choice->getFalseValue());
      }
    }
    return false;
  }

  const llvm::Loop& loop_;
  const llvm::DominatorTree& dominators_;
  bool has_fence_ = false, has_barrier_ = false;
  std::vector<std::pair<llvm::StoreInst*, Objects>> stores_;  // to memory of the work-item's or the block's
  Values followed_;
  WaitsFor waits_for_ = WaitsFor::kNobody;
};

}  // namespace

WaitsFor waits_for(const llvm::Loop& loop, const llvm::DominatorTree& dominators) {
  return LoopExits(loop, dominators).waits_for();
}

bool may_wait_within_wave(const llvm::Loop& loop, const llvm::DominatorTree& dominators, const Uniformity& uniformity) {
  LoopExits exits(loop, dominators);
  return exits.waits_for() != WaitsFor::kNobody && !exits.leaves_together(uniformity);
}

}  // namespace mneme::codegen::host
