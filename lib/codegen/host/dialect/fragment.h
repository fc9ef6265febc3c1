// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the elements of a matrix lie in the registers of a wave: as data, one text for each matrix that a vendor's
// document describes.
#pragma once
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/IRBuilder.h>

namespace mneme::codegen::host {

// "k1 k2 r0 r1 r2 | k0 r3 k3": what the bits of the lane's number stand for, lowest first; then those of an element's
// number among the lane's. r: a bit of the row; c: of the column; k: of the index that is summed over; b: of the block,
// where one instruction multiplies several; s: of a number that chooses lanes; -: nothing, so that elements are there
// more than once.
class Fragment {
 public:
  struct Bit {
    char axis;
    unsigned number;
  };
  // A number for each axis: its length, a power of two (bits of elements beyond that are not there), or a stride.
  struct Axes {
    unsigned rows = 0, columns = 0, depth = 0, blocks = 0;
    unsigned of(char axis) const;
  };

  Fragment(llvm::StringRef text, const Axes& lengths);

  unsigned elements() const { return 1u << element_.size(); }  // of a lane
  // An element's index on an axis: what the lane's number adds to it, and what the element's does.
  llvm::Value* of_lane(llvm::IRBuilderBase& builder, llvm::Value* lane, char axis) const;  // i32
  unsigned of_element(unsigned element, char axis) const;
  // The sum over all axes, each with its stride: where the lane's first element is in memory, and how far behind it
  // another.
  llvm::Value* place_of_lane(llvm::IRBuilderBase& builder, llvm::Value* lane, const Axes& strides) const;
  unsigned place_of_element(unsigned element, const Axes& strides) const;
  // Whether so many elements that follow one another are neighbours on an axis.
  bool runs_along(char axis, unsigned count) const;
  // Whether the lane is one of those that `chosen` chooses, i1.
  llvm::Value* is_chosen(llvm::IRBuilderBase& builder, llvm::Value* lane, unsigned chosen) const;

 private:
  llvm::SmallVector<Bit, 6> lane_, element_;
};

}  // namespace mneme::codegen::host
