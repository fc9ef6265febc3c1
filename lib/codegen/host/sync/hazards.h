// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether two accesses are a hazard: of different lanes of one wave, to bytes that may be the same, one of them a
// write.
//
// They are one unless one of these rules proves the contrary:
//
//   NoWriter     both only read; or both are atomic, and of these any order is right
//   Objects      they touch different objects, or different kinds of memory
//   OwnSlot      an equation between their indices has no solution in different lanes: s[t] and s[t], s[k * 64 + t] and
//                s[t]. Lanes of a wave are less than a wave apart, and an index into an array of C++ stays in the
//                array.
//   OneLane      both are guarded by an equation that one lane fulfils: `if (t == 0)`
//   Guard        a bound that all lanes have in common lies between their indices: `if (t < o) s[t] += s[t + o]`
//   SameValue    the earlier stores the same value in all lanes, which the later reads or stores at the same place
#pragma once
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/IR/Dominators.h>

#include <map>
#include <optional>
#include <vector>

#include "codegen/host/analysis/uniformity.h"
#include "codegen/host/sync/lane_sum.h"
#include "codegen/host/sync/shared_access.h"

namespace mneme::codegen::host {

class Hazards {
 public:
  // `dimensions`: of the blocks, as far as the function asks for them; `wave_size`: its lanes at most.
  Hazards(llvm::DominatorTree& dominators, llvm::LoopInfo& loops, llvm::ScalarEvolution& evolution,
          llvm::AAResults& aliases, const Uniformity& uniformity, unsigned dimensions, unsigned wave_size);

  // What an access that every work-item makes tells of the ids, since an index stays in its array.
  void learn_limits(const SharedAccess& access);
  // Whether the later access, in an iteration of the loop of depth `round` after that of the earlier (0: in the same
  // iteration of all loops around both), may touch bytes that the earlier touches in another lane.
  bool is_hazard(const SharedAccess& earlier, const SharedAccess& later, unsigned round);
  // Whether some of these are none only if lanes of a wave differ in the dimensions that the function asks for.
  bool takes_lanes_to_differ() const { return takes_lanes_to_differ_; }
  // Whether some are none only if each wave is part of a row (LaneSums::take_rows).
  bool needs_rows() const { return needs_rows_; }

 private:
  // A pointer as base + offset + Σ stride * index, outermost index first; each but the first is below its array's size.
  struct Index {
    const llvm::SCEV* number;  // without an extension
    const llvm::SCEV* whole;   // as wide as the address
    int64_t stride;
    int64_t size;  // of the array; 0: unknown
    LaneSum sum;
  };
  struct Place {
    const llvm::Value* base = nullptr;
    int64_t offset = 0;
    std::vector<Index> indices;
    std::optional<LaneSum> bytes;  // all of it in one sum
  };
  // What holds where a block is come to: numbers that are 0, and those that others were compared with.
  struct Facts {
    llvm::SmallVector<const llvm::SCEV*, 4> zeros;
    llvm::SmallVector<const llvm::SCEV*, 4> bounds;
  };
  // That a difference has to lie in [from, to] for a conflict.
  struct Condition {
    LaneDifference difference;
    int64_t from, to;
  };

  bool is_hazard_in_any_block(const SharedAccess& earlier, const SharedAccess& later, unsigned round);
  const Place& place_of(const SharedAccess& access);
  Place find_place(const SharedAccess& access);
  const Facts& facts_at(const llvm::BasicBlock& block);
  void take_fact(Facts& facts, llvm::Value& condition, bool holds);
  bool touch_different_objects(const SharedAccess& earlier, const SharedAccess& later);
  bool is_made_by_all(const llvm::BasicBlock& block);
  bool have_solution(llvm::ArrayRef<Condition> conditions) const;
  bool have_solution_elsewhere(llvm::ArrayRef<Condition> conditions) const;
  bool is_bound_between(const Place& earlier, const Place& later, const Moments& moments);
  bool is_below(const llvm::SCEV* number, const llvm::SCEV* bound, const llvm::Instruction& at, bool is_signed);
  bool is_not_below(const llvm::SCEV* number, const llvm::SCEV* bound, const llvm::Instruction& at, bool is_signed);
  bool give_same_value(const SharedAccess& earlier, const SharedAccess& later, const Moments& moments);

  llvm::DominatorTree& dominators_;
  llvm::ScalarEvolution& evolution_;
  llvm::AAResults& aliases_;
  const Uniformity& uniformity_;
  llvm::LoopInfo& loops_;
  unsigned dimensions_;
  int64_t wave_size_;
  bool may_take_rows_;  // so that no block of several dimensions is refused for it
  LaneSums sums_;
  bool takes_lanes_to_differ_ = false, takes_rows_ = false, needs_rows_ = false;
  llvm::PostDominatorTree joins_;
  std::array<int64_t, 3> most_ids_;                           // the largest id in each dimension
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> divergent_;  // which not all work-items come to, or not together
  std::map<std::pair<const llvm::Instruction*, const llvm::Value*>, Place> places_, places_in_rows_;
  std::map<const llvm::BasicBlock*, Facts> facts_;
};

}  // namespace mneme::codegen::host
