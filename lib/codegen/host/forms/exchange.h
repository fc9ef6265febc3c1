// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What work-items bring to the places where they meet and take from them, in the loop form: arrays in the block's
// frames, with an element for each work-item.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <map>
#include <string>

#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {

struct Slot;

struct Brought {
  llvm::AllocaInst* local = nullptr;   // in the work-item function; then
  const Slot* slot = nullptr;          // its array
  llvm::Constant* constant = nullptr;  // or the same for all
};
struct Exchange {
  Operation operation;
  Brought value, otherwise, lane;  // those that the operation has
  Brought result;
};

// Lets the work-item function bring what a place's call is given through local variables, and take the result from
// one. Every place uses the same: a work-item is at one at a time.
class Exchanges {
 public:
  explicit Exchanges(llvm::Function& item) : item_(item) {}

  // Leaves the call where it is, without a use.
  Exchange replace(llvm::CallInst& call, const Operation& operation);
  bool owns(const llvm::AllocaInst& local) const;

 private:
  llvm::AllocaInst* local(const std::string& name, llvm::Type* type);
  Brought bring(llvm::IRBuilder<>& builder, llvm::Value* value, const char* name);

  llvm::Function& item_;
  std::map<std::string, llvm::AllocaInst*> locals_;
};

// The block's arrays, in code that runs it.
struct Frames {
  llvm::Value* context;
  llvm::Value* base;    // of the arrays
  llvm::Value* count;   // work-items, rounded (i64)
  llvm::Value* places;  // where each of them is: an i32 each
};

// What the wave of `wave_size` work-items from `first` (i64) gets, of which those in `active` (i64, a bit each) take
// part. The others' results are lost. The code for it is there once, however many places ask for the same.
void meet_wave(llvm::IRBuilder<>& builder, const Exchange& exchange, const Frames& frames, uint32_t wave_size,
               llvm::Value* first, llvm::Value* active);

// What the work-items of a block, `exact` of them, get. With `place`, only those that are there take part.
void meet_block(llvm::IRBuilder<>& builder, const Exchange& exchange, const Frames& frames, llvm::Value* exact,
                llvm::Value* place);

}  // namespace mneme::codegen::host
