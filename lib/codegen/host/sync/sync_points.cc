// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/sync/sync_points.h"

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/BasicAliasAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>

#include <array>
#include <map>
#include <optional>
#include <set>

#include "codegen/host/analysis/reachable.h"
#include "codegen/host/analysis/uniformity.h"
#include "codegen/host/neutral/neutral.h"
#include "codegen/host/sync/disjoint_paths.h"
#include "codegen/host/sync/hazards.h"
#include "codegen/host/sync/wait_loops.h"

namespace mneme::codegen::host {
namespace {

constexpr unsigned kMostChosen = 64;  // points that are chosen with care; the others are where they are needed

bool is_collective(const llvm::Instruction& instruction) {
  auto operation = operation_at(instruction);
  return operation && (is_block_collective(*operation) || is_wave_collective(*operation));
}

// The dimensions that blocks have, as far as a kernel asks.
unsigned dimensions_of(llvm::Module& module) {
  unsigned dimensions = 1;
  for (llvm::Function& function : module) {
    for (auto& [call, operation] : operations_in(function)) {
      if (operation.kind != OperationKind::kQuery || operation.query != Query::kLocalId) continue;
      if (!call->use_empty()) dimensions = std::max(dimensions, operation.dimension + 1);
    }
  }
  return dimensions;
}

// While this lives, the function says how large ids and sizes of blocks are, for LLVM's analyses.
class QueryRanges {
 public:
  explicit QueryRanges(llvm::Function& function) {
    llvm::MDBuilder metadata(function.getContext());
    for (auto& [call, operation] : operations_in(function)) {
      if (operation.kind != OperationKind::kQuery || call->hasMetadata(llvm::LLVMContext::MD_range)) continue;
      bool is_id = operation.query == Query::kLocalId;
      if (!is_id && operation.query != Query::kLocalSize) continue;
      unsigned width = call->getType()->getIntegerBitWidth();
      call->setMetadata(llvm::LLVMContext::MD_range, metadata.createRange(llvm::APInt(width, is_id ? 0 : 1),
                                                                          llvm::APInt(width, is_id ? 1024 : 1025)));
      calls_.push_back(call);
    }
  }
  ~QueryRanges() {
    for (llvm::CallInst* call : calls_) call->setMetadata(llvm::LLVMContext::MD_range, nullptr);
  }
  QueryRanges(const QueryRanges&) = delete;
  QueryRanges& operator=(const QueryRanges&) = delete;

 private:
  std::vector<llvm::CallInst*> calls_;
};

// Accesses that lanes have made since they synchronised last: in the same iteration of the loops around both (0), or in
// an earlier one of the loop of that depth.
constexpr unsigned kDepths = 4;
struct Since {
  std::array<llvm::BitVector, kDepths + 1> by_round;
  llvm::BitVector fenced;  // of these, those with a fence behind them

  explicit Since(size_t accesses) : fenced(static_cast<unsigned>(accesses)) {
    by_round.fill(llvm::BitVector(static_cast<unsigned>(accesses)));
  }
  void clear() {
    for (llvm::BitVector& accesses : by_round) accesses.reset();
    fenced.reset();
  }
  void fence() {
    for (const llvm::BitVector& accesses : by_round) fenced |= accesses;
  }
  // Whether that adds any.
  bool join(const Since& other) {
    bool added = other.fenced.test(fenced);
    fenced |= other.fenced;
    for (unsigned round = 0; round <= kDepths; ++round) {
      added |= other.by_round[round].test(by_round[round]);
      by_round[round] |= other.by_round[round];
    }
    return added;
  }
};

// Whether work-items may wait for others by reading memory again and again.
bool may_spin(llvm::Function& function) {
  return llvm::any_of(llvm::instructions(function), [](llvm::Instruction& instruction) {
    auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
    if (update) return !update->use_empty();
    return instruction.isVolatile() || instruction.isAtomic();
  });
}

// LLVM's analyses of a function as it stands.
struct Analyses {
  Analyses(llvm::Function& function, Uniformity::Of of)
      : library(library_implementation),
        assumptions(function),
        dominators(function),
        loops(dominators),
        evolution(function, library, assumptions, dominators, loops),
        basic(function.getDataLayout(), function, library, assumptions, &dominators),
        aliases(library),
        post_dominators(function),
        uniformity(function, of) {
    aliases.addAAResult(basic);
  }

  llvm::TargetLibraryInfoImpl library_implementation;
  llvm::TargetLibraryInfo library;
  llvm::AssumptionCache assumptions;
  llvm::DominatorTree dominators;
  llvm::LoopInfo loops;
  llvm::ScalarEvolution evolution;
  llvm::BasicAAResult basic;
  llvm::AAResults aliases;
  llvm::PostDominatorTree post_dominators;
  Uniformity uniformity;
};

class Synchronisation {
 public:
  Synchronisation(llvm::Function& function, const SyncContext& context, std::vector<SharedAccess> accesses,
                  bool is_kernel, bool has_fences)
      : function_(function),
        accesses_(std::move(accesses)),
        is_kernel_(is_kernel),
        has_fences_(has_fences),
        analyses_(function, is_kernel ? Uniformity::Of::kKernel : Uniformity::Of::kFunction),
        spins_(may_spin(function)),
        dimensions_(context.any_rows ? kDimensions : dimensions_of(*function.getParent())),
        hazards_(analyses_.dominators, analyses_.loops, analyses_.evolution, analyses_.aliases, analyses_.uniformity,
                 dimensions_, context.wave_size) {
    for (const SharedAccess& access : accesses_) hazards_.learn_limits(access);
    for (llvm::Loop* loop : analyses_.loops.getLoopsInPreorder()) {
      // One whose rounds are counted ends whatever it reads.
      if (!llvm::isa<llvm::SCEVCouldNotCompute>(analyses_.evolution.getSymbolicMaxBackedgeTakenCount(loop))) continue;
      if (may_wait_within_wave(*loop, analyses_.dominators, analyses_.uniformity)) add_waiting(*loop);
    }
    for (const Uniformity::DivergentBranch& branch : analyses_.uniformity.divergent_branches()) {
      divergent_branches_.insert(branch.fork());
      for (auto& [side, joins] : DisjointPaths(*branch.fork(), branch.reconvergence).join_blocks()) {
        join_blocks_[side].append(joins.begin(), joins.end());
      }
    }
    for (size_t i = 0; i < accesses_.size(); ++i) in_block_[accesses_[i].instruction->getParent()].push_back(i);
    for (llvm::Loop* loop : analyses_.loops.getLoopsInPreorder()) {
      llvm::BitVector& inside = in_loop_.try_emplace(loop, static_cast<unsigned>(accesses_.size())).first->second;
      for (unsigned i = 0; i < accesses_.size(); ++i) inside[i] = loop->contains(accesses_[i].instruction);
    }
  }

  SyncPoints find() {
    std::vector<SyncPoint> points = find_points();
    unsigned dimensions = hazards_.needs_rows() ? 1 : hazards_.takes_lanes_to_differ() ? dimensions_ : 0;
    return {std::move(points), dimensions, std::move(unordered_)};
  }

 private:
  // All that lanes come to, from the head of a loop in which they may wait for others of their wave to the next
  // collective.
  void add_waiting(const llvm::Loop& loop) {
    llvm::SmallSetVector<const llvm::BasicBlock*, 16> blocks;
    blocks.insert(loop.getHeader());
    for (size_t i = 0; i < blocks.size(); ++i) {
      bool meets = false;
      for (const llvm::Instruction& instruction : *blocks[i]) {
        meets = is_collective(instruction);
        if (meets) break;
        waiting_.insert(&instruction);
      }
      if (!meets) blocks.insert(llvm::succ_begin(blocks[i]), llvm::succ_end(blocks[i]));
    }
  }

  std::vector<SyncPoint> find_points() {
    std::vector<SyncPoint> points;
    while (points.size() < kMostChosen) {
      gather();
      std::optional<SyncPoint> point = next_point();
      if (!point) return points;
      points.push_back(*point);
      points_.try_emplace(point->before, point->of_block);
    }
    for (bool added = true; added;) {
      gather();
      added = add_all(points);
    }
    return points;
  }

  bool syncs_before(const llvm::Instruction& instruction) const {
    return points_.contains(&instruction) || is_collective(instruction);
  }

  // Only lanes on one path from a divergent branch synchronise there: for the others, accesses before it are still open
  // in the join blocks.
  llvm::ArrayRef<llvm::BasicBlock*> join_blocks_behind(const llvm::Instruction& instruction) const {
    auto chosen = points_.find(&instruction);
    auto operation = operation_at(instruction);
    bool of_block = (chosen != points_.end() && chosen->second) || (operation && is_block_collective(*operation));
    auto joins = join_blocks_.find(instruction.getParent());
    if (of_block || joins == join_blocks_.end()) return {};
    return joins->second;
  }

  void synchronise(const llvm::Instruction& instruction, Since& since) {
    for (llvm::BasicBlock* join : join_blocks_behind(instruction)) {
      opened_ |= open_at_.try_emplace(join, accesses_.size()).first->second.join(since);
    }
    since.clear();
  }

  Since at_start(llvm::BasicBlock& block) const {
    Since since = since_.at(&block);
    auto open = open_at_.find(&block);
    if (open != open_at_.end()) since.join(open->second);
    return since;
  }

  // Goes through a block with what is known where it begins.
  void pass(llvm::BasicBlock& block, Since& since, llvm::function_ref<bool(size_t, Since&)> visit) {
    auto found = in_block_.find(&block);
    llvm::ArrayRef<size_t> here;
    if (found != in_block_.end()) here = found->second;
    for (llvm::Instruction& instruction : block) {
      if (syncs_before(instruction)) synchronise(instruction, since);
      if (llvm::isa<llvm::FenceInst>(instruction)) since.fence();
      size_t begin = 0;
      for (; begin < here.size() && accesses_[here[begin]].instruction == &instruction; ++begin) {
        if (!visit(here[begin], since)) return;
      }
      for (size_t access : here.take_front(begin)) {
        auto number = static_cast<unsigned>(access);
        since.by_round[0].set(number);
        since.fenced.reset(number);
      }
      here = here.drop_front(begin);
    }
  }

  void gather() {
    llvm::ReversePostOrderTraversal<llvm::Function*> order(&function_);
    since_.clear();
    open_at_.clear();
    since_.try_emplace(&function_.getEntryBlock(), accesses_.size());
    for (bool changed = true; changed;) {
      changed = opened_ = false;
      for (llvm::BasicBlock* block : order) {
        if (!since_.count(block)) continue;
        Since since = at_start(*block);
        pass(*block, since, [](size_t, Since&) { return true; });
        for (llvm::BasicBlock* next : llvm::successors(block)) {
          auto [there, fresh] = since_.try_emplace(next, accesses_.size());
          changed |= static_cast<int>(fresh) | static_cast<int>(there->second.join(along(block, next, since)));
        }
      }
      changed |= opened_;
    }
  }

  // What changes on the way back to a loop's beginning: that is another iteration for what is in the loop.
  Since along(llvm::BasicBlock* from, llvm::BasicBlock* to, const Since& since) {
    llvm::Loop* loop = analyses_.loops.getLoopFor(to);
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

  // First what goes round a loop: where lanes synchronise for that, they often do for what comes into it, too.
  std::optional<SyncPoint> next_point() {
    std::optional<SyncPoint> point = first_point(true);
    return point ? point : first_point(false);
  }

  std::optional<SyncPoint> first_point(bool round_loops) {
    llvm::ReversePostOrderTraversal<llvm::Function*> order(&function_);
    std::optional<SyncPoint> point;
    for (llvm::BasicBlock* block : order) {
      Since since = at_start(*block);
      pass(*block, since, [&](size_t later, Since& before) {
        std::optional<size_t> earlier = hazard_before(later, before, round_loops);
        if (earlier) point = point_between(accesses_[*earlier], accesses_[later]);
        return !point;
      });
      if (point) return point;
    }
    return std::nullopt;
  }

  // Right before each access that is a hazard with an earlier one. Whether there was any.
  bool add_all(std::vector<SyncPoint>& points) {
    bool added = false;
    for (llvm::BasicBlock& block : function_) {
      if (!since_.count(&block)) continue;
      Since since = at_start(block);
      pass(block, since, [&](size_t later, Since& before) {
        std::optional<size_t> earlier = hazard_before(later, before, false);
        if (!earlier) return true;
        llvm::Instruction* access = accesses_[later].instruction;
        if (points_.try_emplace(access, false).second) {
          points.push_back({access, false, both(accesses_[*earlier], accesses_[later])});
        }
        before.clear();
        return added = true;
      });
    }
    return added;
  }

  std::optional<size_t> hazard_before(size_t later, const Since& before, bool round_loops) {
    for (unsigned round = 0; round <= kDepths; ++round) {
      for (unsigned earlier : before.by_round[round].set_bits()) {
        if (!is_considered(accesses_[earlier], accesses_[later], before.fenced[earlier])) continue;
        if (round_loops && !in_one_loop(accesses_[earlier], accesses_[later], round)) continue;
        if (!is_hazard(earlier, later, round)) continue;
        if (!is_unordered(accesses_[earlier], accesses_[later])) return earlier;
        if (unordered_.empty()) unordered_ = both(accesses_[earlier], accesses_[later]);
      }
    }
    return std::nullopt;
  }

  bool is_considered(const SharedAccess& earlier, const SharedAccess& later, bool fenced) const {
    if (earlier.space != Space::kGlobal && later.space != Space::kGlobal) return true;
    if (fenced || (earlier.is_volatile && later.is_volatile)) return true;
    // What is exchanged with fences is overwritten without one.
    if (!has_fences_ || !earlier.pointer || !later.pointer) return has_fences_;
    if (earlier.space == Space::kEither || later.space == Space::kEither) return true;
    return llvm::getUnderlyingObject(earlier.pointer, 0) == llvm::getUnderlyingObject(later.pointer, 0);
  }

  // Whether the two keep no order: a lane that waits for another one of its wave must not hold that up, not even behind
  // the loop.
  bool is_unordered(const SharedAccess& earlier, const SharedAccess& later) const {
    bool shared = earlier.space != Space::kGlobal && later.space != Space::kGlobal;
    return !shared && waiting_.contains(later.instruction);
  }

  // Whether the loop of that depth is around both.
  bool in_one_loop(const SharedAccess& first, const SharedAccess& then, unsigned round) const {
    const llvm::Loop* common = analyses_.loops.getLoopFor(then.instruction->getParent());
    while (common && !common->contains(first.instruction)) common = common->getParentLoop();
    return round && common && common->getLoopDepth() >= round;
  }

  bool is_hazard(size_t earlier, size_t later, unsigned round) {
    const SharedAccess &first = accesses_[earlier], &then = accesses_[later];
    if (!in_one_loop(first, then, round)) round = 0;
    // Deeper loops are not told apart: of one beyond, nothing is known that is outside of the deepest.
    auto [known, fresh] = known_.try_emplace({earlier, later, round});
    if (fresh) known->second = hazards_.is_hazard(first, then, round);
    return known->second;
  }

  static std::string both(const SharedAccess& earlier, const SharedAccess& later) {
    return describe(earlier) + " and " + describe(later);
  }

  // The end of a block that every path from one to the other comes by, under the fewest divergent branches, else in the
  // fewest loops, else next to the later.
  SyncPoint point_between(const SharedAccess& earlier, const SharedAccess& later) {
    llvm::BasicBlock* block = later.instruction->getParent();
    SyncPoint best = {later.instruction, false, both(earlier, later)};
    auto cost_in = [&](llvm::BasicBlock* in) {
      return std::pair(divergent_control_dependences(*in, false), analyses_.loops.getLoopDepth(in));
    };
    auto least = cost_in(block);
    for (auto* node = analyses_.dominators.getNode(block)->getIDom(); node; node = node->getIDom()) {
      auto cost = cost_in(node->getBlock());
      if (cost >= least || reaches(earlier, later, *node->getBlock())) continue;
      best.before = node->getBlock()->getTerminator();
      least = cost;
    }
    best.of_block = is_kernel_ && !spins_ && divergent_control_dependences(*best.before->getParent(), true) == 0;
    return best;
  }

  // The divergent branches that a block is control-dependent on, and at which all work-items go on. With `strictly`,
  // also those at which some end, if the others come to no barrier of the program's that tells of it.
  unsigned divergent_control_dependences(llvm::BasicBlock& block, bool strictly) {
    llvm::SmallSetVector<llvm::BasicBlock*, 8> decided, forks;
    decided.insert(&block);
    for (size_t i = 0; i < decided.size(); ++i) {
      for (llvm::BasicBlock& fork : function_) {
        if (fork.getTerminator()->getNumSuccessors() < 2) continue;
        if (analyses_.post_dominators.properlyDominates(decided[i], &fork)) continue;
        bool decides = llvm::any_of(llvm::successors(&fork), [&](llvm::BasicBlock* next) {
          return analyses_.post_dominators.dominates(decided[i], next);
        });
        if (decides && forks.insert(&fork)) decided.insert(&fork);
      }
    }
    return static_cast<unsigned>(llvm::count_if(forks, [&](llvm::BasicBlock* fork) {
      if (!divergent_branches_.contains(fork)) return false;
      return !leaves_at(*fork) || (strictly && !has_barrier_behind(*fork));
    }));
  }

  bool has_barrier_behind(llvm::BasicBlock& fork) {
    return llvm::any_of(operations_in(function_), [&](const auto& found) {
      return is_block_collective(found.second) &&
             analyses_.dominators.properlyDominates(&fork, found.first->getParent());
    });
  }

  // Whether one way only ends, without synchronising with anybody: those who take the other stay together.
  bool leaves_at(llvm::BasicBlock& fork) {
    auto syncs = [&](llvm::BasicBlock* block) {
      return llvm::any_of(*block, [&](llvm::Instruction& instruction) { return syncs_before(instruction); });
    };
    return !ending_side(fork, syncs).empty();
  }

  // Whether there is a way that does not come by the end of a block, on which nobody synchronises.
  bool reaches(const SharedAccess& earlier, const SharedAccess& later, const llvm::BasicBlock& avoided) {
    llvm::SmallPtrSet<const llvm::BasicBlock*, 16> seen;
    llvm::SmallVector<llvm::Instruction*, 16> starts = {earlier.instruction->getNextNode()};
    while (!starts.empty()) {
      llvm::Instruction* at = starts.pop_back_val();
      for (; at; at = at->getNextNode()) {
        if (syncs_before(*at) && join_blocks_behind(*at).empty()) break;
        if (at == later.instruction) return true;
        if (!at->isTerminator() || at->getParent() == &avoided) continue;
        for (llvm::BasicBlock* next : llvm::successors(at->getParent())) {
          if (seen.insert(next).second) starts.push_back(&next->front());
        }
      }
    }
    return false;
  }

  llvm::Function& function_;
  std::vector<SharedAccess> accesses_;
  bool is_kernel_, has_fences_;
  Analyses analyses_;
  bool spins_;
  unsigned dimensions_;
  Hazards hazards_;
  llvm::SmallPtrSet<const llvm::Instruction*, 16> waiting_;  // what add_waiting() found
  std::string unordered_;
  llvm::SmallPtrSet<llvm::BasicBlock*, 16> divergent_branches_;
  llvm::DenseMap<const llvm::BasicBlock*, std::vector<size_t>> in_block_;
  std::map<const llvm::Loop*, llvm::BitVector> in_loop_;
  std::map<const llvm::BasicBlock*, Since> since_;
  std::map<const llvm::BasicBlock*, Since> open_at_;  // what join blocks find open besides
  bool opened_ = false;
  std::map<const llvm::BasicBlock*, llvm::SmallVector<llvm::BasicBlock*, 2>> join_blocks_;
  std::map<const llvm::Instruction*, bool> points_;  // and whether all work-items of the block come there
  std::map<std::tuple<size_t, size_t, unsigned>, bool> known_;
};

// Fences, and meetings of waves, which are for memory, too; but not the fences beside a barrier, which are part of it.
bool has_fence(llvm::Function& function) {
  auto beside = [](const llvm::Instruction* at, bool forwards) {
    while (at && (llvm::isa<llvm::FenceInst>(at) || !at->mayReadOrWriteMemory())) {
      at = forwards ? at->getNextNode() : at->getPrevNode();
    }
    auto operation = at ? operation_at(*at) : std::nullopt;
    return operation && is_block_collective(*operation);
  };
  return llvm::any_of(llvm::instructions(function), [&](const llvm::Instruction& instruction) {
    auto operation = operation_at(instruction);
    if (operation && operation->kind == OperationKind::kWaveSync) return true;
    return llvm::isa<llvm::FenceInst>(instruction) && !beside(&instruction, true) && !beside(&instruction, false);
  });
}

}  // namespace

Calls effects_of(llvm::Function& function, const Spaces& spaces) {
  bool fences = has_fence(function);
  Calls effects = Calls::kNothing;
  for (const SharedAccess& access : shared_accesses(function, spaces, Calls::kNothing)) {
    if (access.space == Space::kGlobal && !access.is_volatile && !fences) continue;
    effects = std::max(effects, access.writes ? Calls::kWrite : Calls::kRead);
  }
  return effects;
}

SyncPoints find_sync_points(llvm::Function& function, const SyncContext& context, bool is_kernel) {
  std::vector<SharedAccess> accesses = shared_accesses(function, context.spaces, context.calls);
  bool fences = has_fence(function);
  if (!fences) {  // then of global memory only volatile accesses are considered
    llvm::erase_if(accesses, [](const SharedAccess& a) { return a.space == Space::kGlobal && !a.is_volatile; });
  }
  if (llvm::none_of(accesses, [](const SharedAccess& access) { return access.writes; })) return {};

  QueryRanges ranges(function);
  return Synchronisation(function, context, std::move(accesses), is_kernel, fences).find();
}

}  // namespace mneme::codegen::host
