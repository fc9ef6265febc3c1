// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// D = A * B + C by the lanes of a wave, each of which holds a fragment of every matrix.
#pragma once
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <optional>
#include <string>

#include "codegen/host/dialect/fragment.h"

namespace mneme::codegen::host {

// Of matrices. Those of four bits and of one are packed in registers; a word of bits is one element.
enum class Element {
  kHalf,
  kBrain,
  kTensorFloat,  // tf32: of a word, the upper nineteen bits
  kSingle,
  kDouble,
  kE4m3,
  kE5m2,
  kE4m3Fnuz,  // AMD's of gfx940: no infinities, no negative zero
  kE5m2Fnuz,
  kSigned8,
  kUnsigned8,
  kSigned4,
  kUnsigned4,
  kBits,
  kInteger  // 32 bits, of sums
};
unsigned bits_of(Element element);

// Which columns the elements of a row of A are in, two of each four. They are two bits for each, the first the lowest;
// the bits lie as a matrix of `bits` each in the registers of the lanes that are chosen ("s" in the fragment).
struct Sparsity {
  std::string fragment;  // of rows, and columns as pieces of a row's bits
  unsigned bits = 16;
  unsigned chosen = 0;
  llvm::Value* word = nullptr;  // i32, the lane's
};

struct MatrixProduct {
  uint32_t wave_size;
  Fragment::Axes extent;   // of one product; `depth` is B's
  std::string a, b, c, d;  // fragments
  Element a_type, b_type, c_type, d_type;
  bool saturates = false;  // sums of integers, or finite numbers
  bool both_bits = false;  // kBits: and, in place of exclusive or
  // kDouble: a * b + c with another rounding; empty: to the nearest.
  std::function<llvm::Value*(llvm::IRBuilderBase&, llvm::ArrayRef<llvm::Value*>)> fused;
  std::optional<Sparsity> sparse;  // of A
};

// Registers are integers; each holds as many elements as fit, the first in the lowest bits. Gives as many of D as its
// fragment has, of the width of C's. Needs an instruction that the builder stands before. All lanes take part.
//
// Sums: of integers they wrap. Products of elements of at most nineteen bits are exact, and added as doubles in the
// order of k, beginning with C's; the sum is rounded once. Those of singles and doubles are fused multiply-adds in that
// order, beginning with C's.
llvm::SmallVector<llvm::Value*, 8> multiply_matrices(llvm::IRBuilderBase& builder, const MatrixProduct& product,
                                                     llvm::ArrayRef<llvm::Value*> a, llvm::ArrayRef<llvm::Value*> b,
                                                     llvm::ArrayRef<llvm::Value*> c);

}  // namespace mneme::codegen::host
