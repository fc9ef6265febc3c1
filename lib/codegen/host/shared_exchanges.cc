// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/shared_exchanges.h"

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "codegen/host/exchange_trials.h"
#include "codegen/host/neutral.h"
#include "codegen/host/promoted_copy.h"
#include "codegen/host/reachable.h"

namespace mneme::codegen::host {
namespace {

constexpr size_t kMostAccesses = 1000;  // of a kernel; of those with more none are looked at
constexpr unsigned kMostMeetings = 100;

bool is_place(const llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  if (!call || !call->getCalledFunction()) return false;
  auto operation = operation_of(*call->getCalledFunction());
  return operation && (is_block_place(*operation) || is_wave_place(*operation));
}

// Accesses that lanes have made since they met last: in the same iteration of the loops around both (0), or in an
// earlier one of the loop of that depth.
constexpr unsigned kDepths = 4;
struct Since {
  std::array<llvm::BitVector, kDepths + 1> by_round;

  explicit Since(size_t accesses) { by_round.fill(llvm::BitVector(accesses)); }
  void clear() {
    for (llvm::BitVector& accesses : by_round) accesses.reset();
  }
  // Whether that adds any.
  bool join(const Since& other) {
    bool added = false;
    for (unsigned round = 0; round <= kDepths; ++round) {
      if (!other.by_round[round].test(by_round[round])) continue;
      by_round[round] |= other.by_round[round];
      added = true;
    }
    return added;
  }
};

// Where lanes are to meet, and whether all work-items of their block come there.
struct Meeting {
  llvm::Instruction* before;
  bool of_block;
};

// Whether work-items may wait for others by reading memory again and again.
bool may_spin(llvm::Function& function) {
  return llvm::any_of(llvm::instructions(function), [](llvm::Instruction& instruction) {
    auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
    if (update) return !update->use_empty();
    return instruction.isVolatile() || instruction.isAtomic();
  });
}

class Exchanges {
 public:
  explicit Exchanges(llvm::Function& function)
      : function_(function),
        accesses_(shared_accesses(function)),
        dominators_(function),
        loops_(dominators_),
        joins_(function),
        spins_(may_spin(function)),
        trials_(function, dominators_, loops_) {}

  std::vector<Meeting> find() {
    if (accesses_.empty() || accesses_.size() > kMostAccesses) return {};
    for (size_t i = 0; i < accesses_.size(); ++i) in_block_[accesses_[i].instruction->getParent()].push_back(i);
    for (llvm::Loop* loop : loops_.getLoopsInPreorder()) {
      llvm::BitVector& inside = in_loop_.try_emplace(loop, accesses_.size()).first->second;
      for (size_t i = 0; i < accesses_.size(); ++i) inside[i] = loop->contains(accesses_[i].instruction);
    }
    std::vector<Meeting> meetings;
    while (meetings.size() < kMostMeetings) {
      gather();
      std::optional<Meeting> meeting = next_meeting();
      if (!meeting) break;
      meetings.push_back(*meeting);
      meetings_.insert(meeting->before);
    }
    return meetings;
  }

 private:
  bool meets_before(const llvm::Instruction& instruction) const {
    return meetings_.contains(&instruction) || is_place(instruction);
  }

  // Goes through a block with what is known where it begins.
  void pass(llvm::BasicBlock& block, Since& since, llvm::function_ref<bool(size_t, const Since&)> visit) {
    auto found = in_block_.find(&block);
    llvm::ArrayRef<size_t> here;
    if (found != in_block_.end()) here = found->second;
    for (llvm::Instruction& instruction : block) {
      if (meets_before(instruction)) since.clear();
      size_t begin = 0;
      for (; begin < here.size() && accesses_[here[begin]].instruction == &instruction; ++begin) {
        if (!visit(here[begin], since)) return;
      }
      for (size_t access : here.take_front(begin)) since.by_round[0].set(access);
      here = here.drop_front(begin);
    }
  }

  void gather() {
    llvm::ReversePostOrderTraversal<llvm::Function*> order(&function_);
    since_.clear();
    at_end_.clear();
    since_.try_emplace(&function_.getEntryBlock(), accesses_.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (llvm::BasicBlock* block : order) {
        auto at_start = since_.find(block);
        if (at_start == since_.end()) continue;
        Since since = at_start->second;
        pass(*block, since, [](size_t, const Since&) { return true; });
        for (llvm::BasicBlock* next : llvm::successors(block)) {
          auto [there, fresh] = since_.try_emplace(next, accesses_.size());
          changed |= fresh | there->second.join(leaves_after_one(block, next) ? after_rounds(block)
                                                                              : along(block, next, since));
        }
        at_end_.insert_or_assign(block, std::move(since));
      }
    }
  }

  // Whether that way out of a loop is not taken before its first iteration.
  bool leaves_after_one(llvm::BasicBlock* from, llvm::BasicBlock* to) {
    llvm::Loop* loop = loops_.getLoopFor(from);
    if (!loop || loop->getHeader() != from || loop->contains(to)) return false;
    auto [known, fresh] = goes_into_.try_emplace(loop);
    if (fresh) known->second = trials_.goes_into(*loop);
    return known->second;
  }

  // What is known where a loop's first block ends, if it was come to from within the loop.
  Since after_rounds(llvm::BasicBlock* header) {
    Since since(accesses_.size());
    for (llvm::BasicBlock* latch : llvm::predecessors(header)) {
      auto at_end = at_end_.find(latch);
      if (!loops_.getLoopFor(header)->contains(latch) || at_end == at_end_.end()) continue;
      since.join(along(latch, header, at_end->second));
    }
    pass(*header, since, [](size_t, const Since&) { return true; });
    return since;
  }

  // What changes on the way back to a loop's beginning: that is another iteration for what is in the loop.
  Since along(llvm::BasicBlock* from, llvm::BasicBlock* to, const Since& since) {
    llvm::Loop* loop = loops_.getLoopFor(to);
    if (!loop || loop->getHeader() != to || !loop->contains(from)) return since;
    Since there = since;
    unsigned depth = std::min(loop->getLoopDepth(), kDepths);
    for (unsigned round = 0; round <= kDepths; ++round) {
      if (round != 0 && round <= depth) continue;
      llvm::BitVector moved = there.by_round[round];
      moved &= in_loop_.at(loop);
      there.by_round[round].reset(moved);
      there.by_round[depth] |= moved;
    }
    return there;
  }

  // First what goes round a loop: where lanes meet for that, they often do for what comes into it, too.
  std::optional<Meeting> next_meeting() {
    std::optional<Meeting> meeting = first_meeting(true);
    return meeting ? meeting : first_meeting(false);
  }

  std::optional<Meeting> first_meeting(bool round_loops) {
    llvm::ReversePostOrderTraversal<llvm::Function*> order(&function_);
    std::optional<Meeting> meeting;
    for (llvm::BasicBlock* block : order) {
      Since since = since_.at(block);
      pass(*block, since, [&](size_t later, const Since& before) {
        for (unsigned round = 0; round <= kDepths && !meeting; ++round) {
          for (unsigned earlier : before.by_round[round].set_bits()) {
            if (round_loops && !in_one_loop(accesses_[earlier], accesses_[later], round)) continue;
            if (!exchange(earlier, later, round)) continue;
            meeting = place_between(accesses_[earlier], accesses_[later]);
            break;
          }
        }
        return !meeting;
      });
      if (meeting) return meeting;
    }
    return std::nullopt;
  }

  // Whether the loop of that depth is around both.
  bool in_one_loop(const SharedAccess& first, const SharedAccess& then, unsigned round) const {
    const llvm::Loop* common = loops_.getLoopFor(then.instruction->getParent());
    while (common && !common->contains(first.instruction)) common = common->getParentLoop();
    return round && common && common->getLoopDepth() >= round;
  }

  bool exchange(size_t earlier, size_t later, unsigned round) {
    const SharedAccess &first = accesses_[earlier], &then = accesses_[later];
    if (first.variable != then.variable || then.instruction->isVolatile()) return false;
    bool is_read = first.writes && then.reads && !(first.atomic && then.atomic);
    bool is_overwritten = first.reads && then.writes && !first.atomic && !then.atomic;
    if (!is_read && !is_overwritten) return false;
    if (!in_one_loop(first, then, round)) round = 0;
    const llvm::Loop* left = trials_.only_around(first, then, round);
    const llvm::Loop* entered = trials_.only_around(then, first, round);
    ExchangeTrials::Way way = {round, left && !passes_through(*left, earlier),
                               entered && !passes_through(*entered, earlier)};
    auto [known, fresh] = known_.try_emplace({earlier, later, round, way.from_last, way.to_first});
    if (fresh) known->second = trials_.exchange(first, then, way);
    return known->second;
  }

  // Whether a whole iteration of a loop passes without lanes meeting, behind an access before it or in an earlier one.
  bool passes_through(const llvm::Loop& loop, size_t access) const {
    unsigned depth = std::min(loop.getLoopDepth(), kDepths);
    llvm::SmallVector<llvm::BasicBlock*, 4> latches;
    loop.getLoopLatches(latches);
    bool inside = in_loop_.at(&loop)[access];
    return llvm::any_of(latches, [&](const llvm::BasicBlock* latch) {
      auto since = at_end_.find(latch);
      if (since == at_end_.end()) return false;
      const auto& by_round = since->second.by_round;
      if (inside) return by_round[depth][access];
      return llvm::any_of(by_round, [&](const llvm::BitVector& accesses) { return accesses[access]; });
    });
  }

  // The end of a block that every way from one to the other comes by, where fewest part, else in the fewest loops, else
  // next to the later.
  Meeting place_between(const SharedAccess& earlier, const SharedAccess& later) {
    llvm::BasicBlock* block = later.instruction->getParent();
    Meeting best = {later.instruction, false};
    auto cost_in = [&](llvm::BasicBlock* in) {
      return std::pair(partings_on_the_way_to(*in, false), loops_.getLoopDepth(in));
    };
    auto least = cost_in(block);
    for (auto* node = dominators_.getNode(block)->getIDom(); node; node = node->getIDom()) {
      auto cost = cost_in(node->getBlock());
      if (cost >= least || reaches(earlier, later, *node->getBlock())) continue;
      best.before = node->getBlock()->getTerminator();
      least = cost;
    }
    best.of_block = !spins_ && partings_on_the_way_to(*best.before->getParent(), true) == 0;
    return best;
  }

  // The branches that decide whether a block is come to, at which work-items part and all go on. With `strictly`, also
  // those at which some end, if the others come to no barrier of the program's that tells of it.
  unsigned partings_on_the_way_to(llvm::BasicBlock& block, bool strictly) {
    llvm::SmallSetVector<llvm::BasicBlock*, 8> decided, forks;
    decided.insert(&block);
    for (size_t i = 0; i < decided.size(); ++i) {
      for (llvm::BasicBlock& fork : function_) {
        if (fork.getTerminator()->getNumSuccessors() < 2 || joins_.properlyDominates(decided[i], &fork)) continue;
        bool decides = llvm::any_of(llvm::successors(&fork),
                                    [&](llvm::BasicBlock* next) { return joins_.dominates(decided[i], next); });
        if (!decides || !forks.insert(&fork)) continue;
        decided.insert(&fork);
      }
    }
    return static_cast<unsigned>(llvm::count_if(forks, [&](llvm::BasicBlock* fork) {
      if (!trials_.parts_at(*fork, strictly)) return false;
      return !leaves_at(*fork) || (strictly && !has_barrier_behind(*fork));
    }));
  }

  bool has_barrier_behind(llvm::BasicBlock& fork) {
    return llvm::any_of(operations_in(function_), [&](const auto& found) {
      return is_block_place(found.second) && dominators_.properlyDominates(&fork, found.first->getParent());
    });
  }

  // Whether one way only ends, without meeting anybody: those who take the other stay together.
  bool leaves_at(llvm::BasicBlock& fork) {
    return llvm::any_of(llvm::successors(&fork), [&](llvm::BasicBlock* next) {
      std::set<llvm::BasicBlock*> blocks = reachable_blocks(next, nullptr);
      return !blocks.count(&fork) && llvm::none_of(blocks, [&](llvm::BasicBlock* block) {
        return llvm::any_of(*block, [&](llvm::Instruction& instruction) { return meets_before(instruction); });
      });
    });
  }

  // Whether there is a way that does not come by the end of a block, on which nobody meets.
  bool reaches(const SharedAccess& earlier, const SharedAccess& later, const llvm::BasicBlock& avoided) {
    llvm::SmallPtrSet<const llvm::BasicBlock*, 16> seen;
    llvm::SmallVector<llvm::Instruction*, 16> starts = {earlier.instruction->getNextNode()};
    while (!starts.empty()) {
      llvm::Instruction* at = starts.pop_back_val();
      llvm::BasicBlock* block = at->getParent();
      for (; at && !meets_before(*at); at = at->getNextNode()) {
        if (at == later.instruction) return true;
      }
      if (at || block == &avoided) continue;
      for (llvm::BasicBlock* next : llvm::successors(block)) {
        if (seen.insert(next).second) starts.push_back(&next->front());
      }
    }
    return false;
  }

  llvm::Function& function_;
  std::vector<SharedAccess> accesses_;
  llvm::DominatorTree dominators_;
  llvm::LoopInfo loops_;
  llvm::PostDominatorTree joins_;
  bool spins_;
  ExchangeTrials trials_;
  llvm::DenseMap<const llvm::BasicBlock*, std::vector<size_t>> in_block_;
  std::map<const llvm::Loop*, llvm::BitVector> in_loop_;
  std::map<const llvm::Loop*, bool> goes_into_;
  std::map<const llvm::BasicBlock*, Since> since_, at_end_;
  llvm::SmallPtrSet<const llvm::Instruction*, 8> meetings_;
  std::map<std::tuple<size_t, size_t, unsigned, bool, bool>, bool> known_;
};

// Whether numbers and pointers are still kept in memory, as code has it that is not to be optimised.
bool keeps_locals(llvm::Function& function) {
  return llvm::any_of(llvm::instructions(function), [](llvm::Instruction& instruction) {
    auto* local = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (!local || !local->getAllocatedType()->isIntOrPtrTy()) return false;
    return llvm::all_of(local->users(), [](llvm::User* user) {
      return llvm::isa<llvm::LoadInst, llvm::StoreInst, llvm::MemSetInst, llvm::LifetimeIntrinsic>(user);
    });
  });
}

std::vector<Meeting> find_in_copy(llvm::Function& function) {
  PromotedCopy copy(function);
  std::vector<Meeting> meetings = Exchanges(copy.function()).find();
  for (Meeting& meeting : meetings) meeting.before = copy.original(*meeting.before);
  return meetings;
}

}  // namespace

void meet_before_exchanges(llvm::Function& kernel) {
  for (Meeting meeting : keeps_locals(kernel) ? find_in_copy(kernel) : Exchanges(kernel).find()) {
    llvm::IRBuilder<> builder(meeting.before);
    meeting.of_block ? call_barrier(builder) : call_wave_meet(builder);
  }
}

}  // namespace mneme::codegen::host
