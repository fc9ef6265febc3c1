// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Running a block whose work-items have diverged.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <vector>

#include "codegen/host/forms/collectives.h"
#include "codegen/host/forms/regions.h"

namespace mneme::codegen::host {

// Emits code that goes on, in rounds, until all work-items have ended (and goes to `done`) or all are at the same
// barrier
// (`rejoin`, with its number in `point`, an i32 variable); only to their end if `rejoins`, an i1, is
// false. In each round every wave for itself goes on until each of its lanes has ended or waits for the block: from the
// smallest convergence point at which some lanes are, for as long as there is any. If all that are there have yielded,
// it goes on in the next round.
class DivergedBlock {
 public:
  DivergedBlock(llvm::Module& module, const std::vector<Region>& regions, uint32_t wave_size);

  void emit(llvm::IRBuilder<>& builder, const Frames& frames, llvm::Value* exact, llvm::Value* point,
            llvm::BasicBlock* done, llvm::BasicBlock* rejoin, llvm::Value* rejoins);

 private:
  bool goes_in_step() const;
  bool has(bool (*is_kind)(const Operation&)) const;
  llvm::Function* make_wave_function();
  void emit_case(llvm::IRBuilder<>& builder, uint32_t number, const Frames& frames, llvm::Value* first,
                 llvm::Value* last, llvm::Value* active);
  void let_look_again(llvm::IRBuilder<>& builder, const Frames& frames, llvm::Value* exact);
  void release(llvm::IRBuilder<>& builder, const Frames& frames, llvm::Value* exact);

  llvm::Module& module_;
  const std::vector<Region>& regions_;
  uint32_t wave_size_;
};

// A bit for each lane of the wave whose first work-item is `first`, in a block of `exact` (both i64).
llvm::Value* lanes_of_wave(llvm::IRBuilder<>& builder, uint32_t wave_size, llvm::Value* first, llvm::Value* exact);

// Runs `body(first work-item)` for each wave of a block.
void for_each_wave(llvm::IRBuilder<>& builder, uint32_t wave_size, llvm::Value* exact,
                   llvm::function_ref<void(llvm::Value*)> body);

// Where an i32 says at which convergence point the work-item is.
llvm::Value* point_address(llvm::IRBuilder<>& builder, const Frames& frames, llvm::Value* index);

}  // namespace mneme::codegen::host
