// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What PTX's instructions on matrices have in common.
#pragma once
#include "codegen/host/dialect/matrix_product.h"
#include "codegen/host/dialect/nvptx/ptx/ptx.h"

namespace mneme::codegen::host {

// mma and mma.sp; wmma.load, wmma.store and wmma.mma.
PtxResult raise_ptx_mma(PtxInstruction& instruction);
PtxResult raise_ptx_wmma(PtxInstruction& instruction);

// "f16", "e4m3": of A and B. "f16", "f32", "f64", "s32": of C and D.
std::optional<Element> matrix_element(llvm::StringRef text);
std::optional<Element> sum_element(llvm::StringRef text);

struct MatrixShape {
  unsigned m = 0, n = 0, k = 0;
  friend bool operator==(const MatrixShape&, const MatrixShape&) = default;
};
// "m16n8k16".
std::optional<MatrixShape> matrix_shape(llvm::StringRef text);

// The fragments of a product's matrices, by element type and extent, and the size of waves.
void take_fragments(MatrixProduct& product);

// Takes .rn, .rz, .rm or .rp, where the name has one: of doubles. Whether it has one.
bool take_matrix_rounding(PtxName& name, MatrixProduct& product);

// How many registers a lane's fragment takes: of 64 bits for f64, else of 32.
unsigned registers_of(const Fragment& fragment, Element element);
llvm::Type* register_type(llvm::IRBuilderBase& builder, Element element);

// The product with fragments that have been chosen: checks how many operands there are, A's, B's and C's, and `more`.
PtxResult raise_product(PtxInstruction& instruction, const MatrixProduct& product, unsigned more = 0);

}  // namespace mneme::codegen::host
