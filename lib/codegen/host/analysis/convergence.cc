// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/analysis/convergence.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/FixIrreducible.h>
#include <llvm/Transforms/Utils/LowerSwitch.h>

#include <algorithm>
#include <map>
#include <set>

#include "codegen/host/analysis/uniformity.h"
#include "ir/function_passes.h"

namespace mneme::codegen::host {
namespace {

using MayConverge = llvm::function_ref<bool(const llvm::CallInst&)>;

// One of the function itself, where it is known to be: on every way past it lanes stop.
bool stops(const ConvergencePoint& point) { return point.operation.has_value(); }

std::vector<ConvergencePoint> points_of(llvm::Function& function, MayConverge may_converge) {
  std::vector<ConvergencePoint> points;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (!call) continue;
    std::optional<Operation> operation = operation_at(*call);
    if (operation ? is_convergence_point(*operation) : may_converge(*call)) {
      points.push_back({call, operation, 0});
    }
  }
  return points;
}

// Cycles that are entered at several blocks have no iterations to speak of until they are given a header.
void make_reducible(llvm::Function& function) {
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::LowerSwitchPass());
  passes.addPass(llvm::FixIrreduciblePass());
  ir::run_passes(passes, function);
}

bool is_irreducible(llvm::Function& function) {
  llvm::DominatorTree dominators(function);
  llvm::LoopInfo loops(dominators);
  llvm::ReversePostOrderTraversal<llvm::Function*> order(&function);
  return llvm::containsIrreducibleCFG<llvm::BasicBlock*>(order, loops);
}

class Order {
 public:
  Order(llvm::Function& function, const Uniformity* uniformity, MayConverge may_converge)
      : function_(function), may_converge_(may_converge) {
    if (!uniformity) return;
    forks_.emplace();
    for (const Uniformity::DivergentBranch& branch : uniformity->divergent_branches()) forks_->insert(branch.fork());
  }

  std::vector<ConvergencePoint> make() {
    find_loops();
    for (llvm::Loop* loop : loops_.getLoopsInPreorder()) {
      if (!wants_point(*loop)) continue;
      const ConvergencePoint* found = on_every_way_round(*loop);
      last_in_[loop->getHeader()] = found ? found->call : sync_at_latch(*loop);
    }
    find_loops();
    append(nullptr, function_.getEntryBlock());
    for (uint32_t i = 0; i < ordered_.size(); ++i) ordered_[i].number = i + 1;
    return std::move(ordered_);
  }

 private:
  using Successors = std::map<llvm::BasicBlock*, llvm::SmallVector<llvm::BasicBlock*, 4>>;

  void find_loops() {
    dominators_.recalculate(function_);
    loops_.releaseMemory();
    loops_.analyze(dominators_);
    by_block_.clear();
    for (const ConvergencePoint& point : points_of(function_, may_converge_)) {
      llvm::BasicBlock* block = point.call->getParent();
      if (dominators_.isReachableFromEntry(block)) by_block_[block].push_back(point);
    }
  }

  bool wants_point(const llvm::Loop& loop) {
    bool has_point = false, diverges = false;
    for (llvm::BasicBlock* block : loop.blocks()) {
      has_point |= by_block_.count(block) > 0;
      if (block->getTerminator()->getNumSuccessors() > 1) diverges |= !forks_ || forks_->count(block);
    }
    return has_point && diverges;
  }

  // A convergence point that every iteration passes once.
  const ConvergencePoint* on_every_way_round(const llvm::Loop& loop) {
    llvm::SmallVector<llvm::BasicBlock*, 4> latches;
    loop.getLoopLatches(latches);
    for (auto& [block, points] : by_block_) {
      if (loops_.getLoopFor(block) != &loop) continue;
      if (!llvm::all_of(latches, [&](llvm::BasicBlock* latch) { return dominators_.dominates(block, latch); }))
        continue;
      auto found = llvm::find_if(points, stops);
      if (found != points.end()) return &*found;
    }
    return nullptr;
  }

  // The ways back to the loop's header go through one block, in which lanes synchronise.
  llvm::CallInst* sync_at_latch(llvm::Loop& loop) {
    llvm::SmallVector<llvm::BasicBlock*, 4> latches;
    loop.getLoopLatches(latches);
    llvm::BasicBlock* latch = llvm::SplitBlockPredecessors(loop.getHeader(), latches, ".latch", &dominators_, &loops_);
    llvm::IRBuilder<> builder(latch->getTerminator());
    return call_wave_sync(builder);
  }

  // What stands for a block in the loop (or the function, null): itself, or the header of the inner loop that it is in.
  llvm::BasicBlock* stand_in(llvm::Loop* loop, llvm::BasicBlock* block) {
    llvm::Loop* inner = loops_.getLoopFor(block);
    if (inner == loop) return block;
    while (inner->getParentLoop() != loop) inner = inner->getParentLoop();
    return inner->getHeader();
  }

  // Appends the convergence points of a loop, or of the function, so that one that can be reached from another in the
  // same iteration comes after it, and inner loops' stay side by side. Iterations end behind the loop's last one, or
  // else where the header begins.
  void append(llvm::Loop* loop, llvm::BasicBlock& head) {
    auto last = last_in_.find(&head);
    bool cut = loop && last != last_in_.end();
    llvm::BasicBlock* start = cut ? last->second->getParent() : &head;

    Successors next;
    std::vector<llvm::BasicBlock*> blocks;
    if (loop)
      blocks.assign(loop->block_begin(), loop->block_end());
    else
      for (llvm::BasicBlock& block : function_) blocks.push_back(&block);
    for (llvm::BasicBlock* block : blocks) {
      for (llvm::BasicBlock* successor : llvm::successors(block)) {
        if (loop && !loop->contains(successor)) continue;
        llvm::BasicBlock *from = stand_in(loop, block), *to = stand_in(loop, successor);
        if (from != to && to != start) next[from].push_back(to);
      }
    }
    put_waits_first(loop, next);
    std::vector<llvm::BasicBlock*> order;
    std::set<llvm::BasicBlock*> seen;
    visit(start, next, seen, order);
    for (llvm::BasicBlock* block : llvm::reverse(order)) {
      llvm::Loop* inner = loops_.getLoopFor(block);
      if (inner != loop) {
        append(inner_loop(loop, block), *block);
        continue;
      }
      auto here = by_block_.find(block);
      if (here == by_block_.end()) continue;
      bool behind = !cut || block != start;
      for (const ConvergencePoint& point : here->second) {
        if (behind) ordered_.push_back(point);
        behind |= cut && point.call == last->second;
      }
    }
    if (!cut) return;
    for (const ConvergencePoint& point : by_block_[start]) {
      ordered_.push_back(point);
      if (point.call == last->second) break;
    }
  }

  // Of ways that diverge, those that wait most are visited first and so come last in the order: lanes on the others
  // need not wait for them.
  void put_waits_first(llvm::Loop* loop, Successors& next) {
    std::set<llvm::BasicBlock*> waits;
    for (auto& [block, points] : by_block_) {
      bool yields = llvm::any_of(
          points, [](const ConvergencePoint& point) { return stops(point) && is_yield(*point.operation); });
      if (yields && (!loop || loop->contains(block))) waits.insert(stand_in(loop, block));
    }
    if (waits.empty()) return;
    std::map<llvm::BasicBlock*, std::ptrdiff_t> waits_from;
    for (auto& [block, ways] : Successors(next)) {
      for (llvm::BasicBlock* way : ways) {
        std::vector<llvm::BasicBlock*> order;
        std::set<llvm::BasicBlock*> seen;
        visit(way, next, seen, order);
        waits_from[way] = llvm::count_if(order, [&](llvm::BasicBlock* reached) { return waits.count(reached) > 0; });
      }
    }
    for (auto& [block, ways] : next) {
      auto most = std::max_element(ways.begin(), ways.end(), [&](llvm::BasicBlock* a, llvm::BasicBlock* b) {
        return waits_from[a] < waits_from[b];
      });
      if (most != ways.end()) std::rotate(ways.begin(), most, std::next(most));
    }
  }

  llvm::Loop* inner_loop(llvm::Loop* loop, llvm::BasicBlock* header) {
    llvm::Loop* inner = loops_.getLoopFor(header);
    while (inner->getParentLoop() != loop) inner = inner->getParentLoop();
    return inner;
  }

  void visit(llvm::BasicBlock* block, Successors& next, std::set<llvm::BasicBlock*>& seen,
             std::vector<llvm::BasicBlock*>& post) {
    struct Frame {
      llvm::BasicBlock* block;
      size_t at;
    };
    std::vector<Frame> stack = {{block, 0}};
    seen.insert(block);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      auto& successors = next[frame.block];
      if (frame.at == successors.size()) {
        post.push_back(frame.block);
        stack.pop_back();
        continue;
      }
      llvm::BasicBlock* successor = successors[frame.at++];
      if (seen.insert(successor).second) stack.push_back({successor, 0});
    }
  }

  llvm::Function& function_;
  MayConverge may_converge_;
  std::optional<std::set<llvm::BasicBlock*>> forks_;  // of divergent branches; nothing: unknown
  llvm::DominatorTree dominators_;
  llvm::LoopInfo loops_;
  llvm::MapVector<llvm::BasicBlock*, std::vector<ConvergencePoint>> by_block_;
  std::map<llvm::BasicBlock*, llvm::CallInst*> last_in_;  // loops, by header
  std::vector<ConvergencePoint> ordered_;
};

}  // namespace

std::vector<ConvergencePoint> order_convergence_points(llvm::Function& function, const Uniformity* uniformity,
                                                       MayConverge may_converge) {
  std::vector<ConvergencePoint> points = points_of(function, may_converge);
  bool none_of_wave = llvm::all_of(
      points, [](const ConvergencePoint& point) { return point.operation && !is_wave_collective(*point.operation); });
  if (none_of_wave) {
    for (uint32_t i = 0; i < points.size(); ++i) points[i].number = i + 1;
    return points;
  }
  if (is_irreducible(function)) {
    make_reducible(function);
    uniformity = nullptr;
  }
  return Order(function, uniformity, may_converge).make();
}

}  // namespace mneme::codegen::host
