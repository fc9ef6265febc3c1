// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the lanes of a wave compute, tried out: each value of a function as numbers, one for each lane.
//
// Indices, and conditions on them, are mostly arithmetic on the work-item's place in its block, on loops' counters and
// on constants, which comes out exactly, whatever operators it has. What only the launch or memory knows is made up:
// arguments are large, what is loaded is small, and the same address gives the same. Code is worked out only as far as
// it is asked for.
#pragma once
#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "codegen/host/lane_numbers.h"
#include "codegen/host/neutral.h"

namespace mneme::codegen::host {

// In which iteration of each loop around it code is, outermost first; counted from 0.
struct Moment {
  static constexpr unsigned kMostLoops = 6;

  const llvm::Loop* loop = nullptr;  // the innermost; null: none
  std::array<uint8_t, kMostLoops> iteration = {};

  uint64_t packed() const;  // all iterations in one
};

// A wave of a block.
struct TriedWave {
  std::array<uint32_t, 3> block;
  uint32_t first;  // of its work-items, by thread_index (neutral.h)
};

class LaneValues {
 public:
  LaneValues(const llvm::DominatorTree& dominators, const llvm::LoopInfo& loops, const TriedWave& wave);

  const LaneNumbers& at(const llvm::Value* value, const Moment& moment);
  // A bit for each lane that may get to a block, as far as the branches tell that lead there and nowhere else.
  uint64_t lanes_in(const llvm::BasicBlock& block, const Moment& moment);
  // In which iteration, the same for all lanes, a loop ends where it begins, if that is known and soon enough. `moment`
  // is of some place in or behind it, for the loops around it.
  std::optional<uint8_t> iterations_of(const llvm::Loop& loop, const Moment& moment);
  // Whether all lanes go into a loop that ends where it begins, as numbers are that are known or made up.
  bool goes_into(const llvm::Loop& loop);

  // Where a variable's bytes begin; those of others are far away.
  uint64_t address_of(const llvm::GlobalVariable& variable);

 private:
  using Key = std::pair<const llvm::Value*, uint64_t>;

  std::optional<Moment> moment_in(const llvm::Loop* loop, const Moment& moment);
  LaneNumbers compute(const llvm::Value* value, const Moment& moment);
  LaneNumbers of_constant(const llvm::Value* value);
  LaneNumbers of_operator(const llvm::Operator& value, const Moment& moment);
  LaneNumbers of_phi(const llvm::PHINode& phi, const Moment& moment);
  LaneNumbers of_header(const llvm::PHINode& phi, const llvm::Loop& loop, const Moment& moment);
  LaneNumbers of_address(const llvm::GEPOperator& address, const Moment& moment);
  std::optional<LaneNumbers> of_call(const llvm::CallInst& call, const Moment& moment);
  LaneNumbers of_query(Query query, unsigned dimension) const;
  LaneNumbers made_up(const llvm::User& value, const Moment& moment);
  uint64_t narrowed(uint64_t lanes, const llvm::Value* condition, bool wanted, const Moment& moment);
  uint64_t number_of(const llvm::Value* value);

  const llvm::DataLayout& layout_;
  const llvm::DominatorTree& dominators_;
  const llvm::LoopInfo& loops_;
  TriedWave wave_;
  unsigned depth_ = 0;
  llvm::DenseMap<Key, std::unique_ptr<LaneNumbers>> known_;
  llvm::DenseMap<Key, uint64_t> lanes_;  // in blocks
  llvm::DenseMap<std::pair<const llvm::Loop*, uint64_t>, std::optional<uint8_t>> iterations_;
  llvm::DenseMap<const llvm::Value*, uint64_t> numbers_;  // in the order in which they are asked for
};

}  // namespace mneme::codegen::host
