// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integers as sums of what the lanes of a wave have in common and what each has of its own, and by how much two of them
// may differ in different lanes.
#pragma once
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/Function.h>

#include <array>
#include <cstdint>

#include "codegen/host/analysis/uniformity.h"

namespace mneme::codegen::host {

// constant + Σ local[d] * (the work-item's id in dimension d) + linear * (its linear index) + Σ factor * term; up to a
// multiple of `wraps`, unless that is 0.
struct LaneSum {
  int64_t constant = 0;
  std::array<int64_t, 3> local = {};
  int64_t linear = 0;
  llvm::SmallVector<std::pair<const llvm::SCEV*, int64_t>, 4> terms;
  uint64_t wraps = 0;
  bool has_lane = false;  // an index in the wave is part of it (LaneSums::take_rows)

  void scale(int64_t factor);
  void add(const LaneSum& other);
};

constexpr unsigned kDimensions = 3;
constexpr int64_t kMostThreads = 1024;  // of a block, in any dimension

// The number whose sign or zero extension this is, if it is one.
const llvm::SCEV* without_extension(const llvm::SCEV* number);

// How far two lanes of a wave are apart: in each dimension, and by linear index.
struct LaneStep {
  std::array<int64_t, 3> local = {};
  int64_t linear = 0;
};

// How the iterations relate in which two accesses are made: in loops around both that are less deep than `round`, and
// in all loops around both if it is 0, they are the same; otherwise they are unknown.
struct Moments {
  const llvm::Instruction* earlier;
  const llvm::Instruction* later;
  unsigned round;
};

// later - earlier = constant + Σ factors * step + something that is both in [low, high] + a multiple of `modulus`, and
// a multiple of `multiple`. A multiple of 0 is 0.
struct LaneDifference {
  int64_t constant = 0, low = 0, high = 0;
  std::array<int64_t, 3> local = {};
  int64_t linear = 0;
  uint64_t modulus = 0, multiple = 0;

  // Whether it may lie in [from, to] for lanes that are so far apart.
  bool may_be_in(int64_t from, int64_t to, const LaneStep& step) const;
};

class LaneSums {
 public:
  // Of a function whose blocks have so many dimensions.
  LaneSums(llvm::ScalarEvolution& evolution, llvm::LoopInfo& loops, const Uniformity& uniformity, unsigned dimensions,
           unsigned wave_size)
      : evolution_(evolution), loops_(loops), uniformity_(uniformity), dimensions_(dimensions), wave_size_(wave_size) {}

  LaneSum sum_of(const llvm::SCEV* number);
  LaneDifference difference(const LaneSum& earlier, const LaneSum& later, const Moments& moments);
  // Whether it is the same number in all lanes at these moments.
  bool is_same(const llvm::SCEV* number, const Moments& moments);
  bool is_uniform(const llvm::SCEV* number);
  // From here on waves are taken for parts of rows: x is lane + size * (x / size), and the lanes of a wave have x /
  // size, y and z in common. So it is in blocks of one row, and of rows that are as long as several waves.
  void take_rows(bool taken) { takes_rows_ = taken; }

 private:
  bool is_wave_number(const llvm::SCEV* number);
  void add(LaneSum& sum, const llvm::SCEV* number, int64_t factor);
  void add_product(LaneSum& sum, const llvm::SCEVMulExpr& product, int64_t factor);
  void find_linear(LaneSum& sum);
  bool is_rest(const llvm::SCEV* number, unsigned dimension) const;
  const llvm::SCEV* first_id_of(const llvm::SCEV* index) const;
  bool cannot_wrap(const llvm::SCEVNAryExpr& number) const;
  void add_unknown(LaneDifference& difference, const llvm::SCEV* term, int64_t factor);

  llvm::ScalarEvolution& evolution_;
  llvm::LoopInfo& loops_;
  const Uniformity& uniformity_;
  unsigned dimensions_;
  unsigned wave_size_;
  bool takes_rows_ = false;
  bool exact_ = true;  // whether what is being added cannot wrap
};

}  // namespace mneme::codegen::host
