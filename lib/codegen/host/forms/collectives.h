// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands and results of collectives in the loop form: arrays in the block's frames, with an element for each
// work-item.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <map>
#include <string>

#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {

struct Slot;

struct Operand {
  llvm::AllocaInst* local = nullptr;   // in the work-item function; then
  const Slot* slot = nullptr;          // its array
  llvm::Constant* constant = nullptr;  // or the same for all
};
struct Collective {
  Operation operation;
  Operand value, otherwise, lane;  // those that the operation has
  Operand result;
};

// Lets the work-item function pass a collective's operands through local variables, and take the result from one. All
// collectives use the same: a work-item is at one at a time.
class Collectives {
 public:
  explicit Collectives(llvm::Function& item) : item_(item) {}

  // Leaves the call where it is, without a use.
  Collective replace(llvm::CallInst& call, const Operation& operation);
  bool owns(const llvm::AllocaInst& local) const;

 private:
  llvm::AllocaInst* local(const std::string& name, llvm::Type* type);
  Operand take_operand(llvm::IRBuilder<>& builder, llvm::Value* value, const char* name);

  llvm::Function& item_;
  std::map<std::string, llvm::AllocaInst*> locals_;
};

// The block's arrays, in code that runs it.
struct Frames {
  llvm::Value* context;
  llvm::Value* base;    // of the arrays
  llvm::Value* count;   // work-items, rounded (i64)
  llvm::Value* points;  // at which convergence point each of them is: an i32 each
};

// What the wave of `wave_size` work-items from `first` (i64) gets, of which those in `active` (i64, a bit each) take
// part. The others' results are lost. The code for it is there once, however many collectives want the same.
void compute_wave_collective(llvm::IRBuilder<>& builder, const Collective& collective, const Frames& frames,
                             uint32_t wave_size, llvm::Value* first, llvm::Value* active);

// What the work-items of a block, `exact` of them, get. With `point`, only those that are there take part.
void compute_block_collective(llvm::IRBuilder<>& builder, const Collective& collective, const Frames& frames,
                              llvm::Value* exact, llvm::Value* point);

}  // namespace mneme::codegen::host
