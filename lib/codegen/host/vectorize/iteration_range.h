// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <optional>

namespace mneme::codegen::host {

// for (index = start; ; ) { body; if (++index == count) break; }, as LLVM leaves loops over work-items. The body may
// leave early for the latch, which is not the header; no value is used behind the loop.
struct CountedLoop {
  llvm::PHINode* index;     // at most 64 bits
  llvm::ICmpInst* counted;  // ++index == count
  llvm::Value* count;       // 0 stands for as many iterations as the index has values
};
std::optional<CountedLoop> match_counted_loop(llvm::Loop& loop);

// Turns conditions on a loop's index into the range of iterations that meet them all.
class IterationRange {
 public:
  IterationRange(llvm::Loop& loop, const CountedLoop& counted);

  // Narrows the range to where the condition holds (or, with `wanted` false, does not hold), if it compares the index
  // with what is the same for all iterations; else changes nothing and returns false.
  bool narrow(llvm::Value* condition, bool wanted);

  // The last index, i64. Code to compute it, and the bounds below, stands before the loop.
  llvm::Value* last();
  llvm::Value* first = nullptr;  // i64: from here on; null: no such bound
  llvm::Value* end = nullptr;    // i64: below this; null: no such bound
  llvm::IRBuilder<> builder;     // before the loop

 private:
  llvm::Value* base_of(llvm::Value* value, bool is_signed);
  bool is_extended_index(llvm::Value* value);
  bool may_turn_negative() const;
  llvm::Value* widen(llvm::Value* value, bool is_signed);
  llvm::Value* distance(llvm::Value* base, llvm::Value* bound, bool is_signed, bool and_one);
  void begin_at(llvm::Value* value);
  void end_at(llvm::Value* value);

  llvm::Loop& loop_;
  CountedLoop counted_;
};

}  // namespace mneme::codegen::host
