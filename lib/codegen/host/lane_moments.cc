// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which iterations of loops there are, and which lanes get where, as LaneValues works it out from conditions.
#include <llvm/IR/IntrinsicInst.h>

#include "codegen/host/lane_values.h"

namespace mneme::codegen::host {
namespace {

constexpr uint8_t kMostIterations = 20;  // of loops that are gone through to their end

}  // namespace

uint64_t Moment::packed() const {
  uint64_t packed = 0;
  for (uint8_t one : iteration) packed = packed << 8 | one;
  return packed;
}

// The moment as code in `loop` has it; where that loop is over by then, the one in which it ended, if that is known.
std::optional<Moment> LaneValues::moment_in(const llvm::Loop* loop, const Moment& moment) {
  Moment here;
  here.loop = loop;
  if (!loop) return here;
  if (moment.loop && loop->contains(moment.loop)) {
    for (unsigned i = 0; i < loop->getLoopDepth() && i < Moment::kMostLoops; ++i)
      here.iteration[i] = moment.iteration[i];
    return here;
  }
  std::optional<Moment> around = moment_in(loop->getParentLoop(), moment);
  std::optional<uint8_t> last = around ? iterations_of(*loop, *around) : std::nullopt;
  if (!last || loop->getLoopDepth() > Moment::kMostLoops) return std::nullopt;
  here.iteration = around->iteration;
  here.iteration[loop->getLoopDepth() - 1] = *last;
  return here;
}

std::optional<uint8_t> LaneValues::iterations_of(const llvm::Loop& loop, const Moment& moment) {
  std::optional<Moment> around = moment_in(loop.getParentLoop(), moment);
  auto* branch = llvm::dyn_cast<llvm::BranchInst>(loop.getHeader()->getTerminator());
  unsigned depth = loop.getLoopDepth();
  if (!around || depth > Moment::kMostLoops || loop.getExitingBlock() != loop.getHeader() || !branch)
    return std::nullopt;
  auto [found, fresh] = iterations_.try_emplace({&loop, around->packed()});
  if (!fresh) return found->second;
  Moment at_header = *around;
  at_header.loop = &loop;
  for (uint8_t iteration = 0; iteration < kMostIterations; ++iteration) {
    at_header.iteration[depth - 1] = iteration;
    const LaneNumbers& condition = at(branch->getCondition(), at_header);
    if (condition.made_up || !condition.uniform()) return std::nullopt;
    if (loop.contains(branch->getSuccessor(condition.of[0] & 1 ? 0 : 1))) continue;
    return iterations_[{&loop, around->packed()}] = iteration;
  }
  return std::nullopt;
}

bool LaneValues::goes_into(const llvm::Loop& loop) {
  auto* branch = llvm::dyn_cast<llvm::BranchInst>(loop.getHeader()->getTerminator());
  if (!branch || !branch->isConditional()) return false;
  Moment first;
  first.loop = &loop;
  const LaneNumbers& condition = at(branch->getCondition(), first);
  return condition.uniform() && loop.contains(branch->getSuccessor(condition.of[0] & 1 ? 0 : 1));
}

uint64_t LaneValues::lanes_in(const llvm::BasicBlock& block, const Moment& moment) {
  auto [found, fresh] = lanes_.try_emplace({&block, moment.packed()});
  if (!fresh) return found->second;
  uint64_t lanes = ~uint64_t{0};
  for (auto* node = dominators_.getNode(&block); node && node->getIDom(); node = node->getIDom()) {
    const llvm::BasicBlock* fork = node->getIDom()->getBlock();
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(fork->getTerminator());
    if (!branch || !branch->isConditional() || branch->getSuccessor(0) == branch->getSuccessor(1)) continue;
    for (unsigned side : {0u, 1u}) {
      llvm::BasicBlockEdge edge(fork, branch->getSuccessor(side));
      if (dominators_.dominates(edge, &block)) lanes = narrowed(lanes, branch->getCondition(), side == 0, moment);
    }
  }
  lanes_[{&block, moment.packed()}] = lanes;
  return lanes;
}

uint64_t LaneValues::narrowed(uint64_t lanes, const llvm::Value* condition, bool wanted, const Moment& moment) {
  const LaneNumbers& holds = at(condition, moment);
  if (holds.of_launch && !holds.by_lane) return lanes;
  auto* compare = llvm::dyn_cast<llvm::ICmpInst>(condition);
  uint64_t open = holds.made_up;
  if (open && compare && compare->isEquality() && (compare->getPredicate() == llvm::ICmpInst::ICMP_EQ) == wanted) {
    // An index and what all have in common are equal in one lane, or in those that share the index.
    const LaneNumbers *index = &at(compare->getOperand(0), moment), *common = &at(compare->getOperand(1), moment);
    if (index->uniform()) std::swap(index, common);
    if (common->uniform() && !index->made_up) {
      uint64_t chosen = index->of[mixed(common->of[0]) % kTriedLanes];
      for (unsigned lane = 0; lane < kTriedLanes; ++lane) {
        if (index->of[lane] != chosen) lanes &= ~(uint64_t{1} << lane);
      }
      return lanes;
    }
  }
  for (unsigned lane = 0; lane < kTriedLanes; ++lane) {
    uint64_t bit = uint64_t{1} << lane;
    if (!(open & bit) && (holds.of[lane] & 1) != wanted) lanes &= ~bit;
  }
  return lanes;
}

}  // namespace mneme::codegen::host
