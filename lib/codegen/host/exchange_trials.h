// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether two accesses of shared memory exchange values between lanes of one wave, by trial (lane_values.h).
#pragma once
#include <llvm/IR/Function.h>

#include <array>
#include <deque>
#include <vector>

#include "codegen/host/lane_values.h"

namespace mneme::codegen::host {

struct SharedAccess {
  llvm::Instruction* instruction;
  llvm::Value* pointer;
  const llvm::GlobalVariable* variable;
  uint64_t size;
  bool reads, writes, atomic;
};

// Accesses of which it is known what variable they touch, and how many bytes of it.
std::vector<SharedAccess> shared_accesses(llvm::Function& function);

class ExchangeTrials {
 public:
  ExchangeTrials(llvm::Function& function, const llvm::DominatorTree& dominators, const llvm::LoopInfo& loops);

  struct Way {
    // Both are in the same iteration of all loops around both (0), or the later in the next one of the loop of that
    // depth.
    unsigned round;
    // Of loops that only one is in: whether the way begins in the last iteration, or ends in the first.
    bool from_last, to_first;
  };
  // Whether lanes of a wave touch bytes in `later` that others of it have touched in `earlier`.
  bool exchange(const SharedAccess& earlier, const SharedAccess& later, const Way& way);
  // The outermost loop that is around `one` and not around `other`, null if there is none; with `round`, of those
  // inside the loop of that depth.
  const llvm::Loop* only_around(const SharedAccess& one, const SharedAccess& other, unsigned round) const;
  // Whether all lanes go into a loop that ends where it begins.
  bool goes_into(const llvm::Loop& loop);
  // Whether work-items of a block may take different ways at a branch: since something differs by work-item, or (with
  // `also_memory`) since what it asks memory may have changed for who comes later.
  bool parts_at(const llvm::BasicBlock& fork, bool also_memory);

 private:
  struct Try {
    Moment earlier, later;
  };
  // A branch that leads to a block, and which way.
  using Guard = std::pair<const llvm::BasicBlock*, unsigned>;

  std::vector<Try> tries(const SharedAccess& earlier, const SharedAccess& later, const Way& way);
  bool keeps_its_own(const SharedAccess& earlier, const SharedAccess& later, const llvm::Loop* round) const;
  std::vector<Guard> guards_of(const llvm::BasicBlock& block) const;

  const llvm::DominatorTree& dominators_;
  const llvm::LoopInfo& loops_;
  std::deque<LaneValues> waves_;  // two of each block
  unsigned left_;                 // tries that may still be made
};

}  // namespace mneme::codegen::host
