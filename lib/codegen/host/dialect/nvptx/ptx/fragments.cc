// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fragments of mma, mma.sp and wmma, as the figures of the PTX ISA 9.0 have them: "Matrix Fragments for
// mma.m16n8k16 with floating point type" and those beside it. The ISA leaves the fragments of wmma open; here they are
// those of as many mma as make the same product, so that a program that mixes both finds elements where it does on
// sm_80 and later.
#include <llvm/ADT/STLExtras.h>

#include "codegen/host/dialect/nvptx/ptx/matrix.h"
#include "codegen/host/dialect/nvptx/ptx/rounding.h"
#include "codegen/host/dialect/nvptx/ptx/waves.h"

namespace mneme::codegen::host {

using llvm::StringRef;

namespace {

// Lane t has g = t / 4 and i = t % 4: a row g of A and a column g of B, of which a register has neighbours, from i
// times their number on. These are the longest; those of fewer rows, fewer columns or a smaller k have fewer bits. Of
// one bit, an element is a word.
struct Fragments {
  unsigned bits;
  const char *a, *b;
};
constexpr Fragments kFragments[] = {
    {64, "k0 k1 r0 r1 r2 | r3 k2 k3", "k0 k1 c0 c1 c2 | k2 k3"},
    {32, "k0 k1 r0 r1 r2 | r3 k2", "k0 k1 c0 c1 c2 | k2 k3 c3"},
    {16, "k1 k2 r0 r1 r2 | k0 r3 k3 r4", "k1 k2 c0 c1 c2 | k0 k3 k4 c3 c4"},
    {8, "k2 k3 r0 r1 r2 | k0 k1 r3 k4 r4", "k2 k3 c0 c1 c2 | k0 k1 k4 k5 c3 c4"},
    {4, "k3 k4 r0 r1 r2 | k0 k1 k2 r3 k5", "k3 k4 c0 c1 c2 | k0 k1 k2 k5 k6"},
};
constexpr const char* kSums = "c1 c2 r0 r1 r2 | c0 r3 c3 r4 c4";

}  // namespace

void take_fragments(MatrixProduct& product) {
  auto* found = llvm::find_if(kFragments, [&](const Fragments& one) { return one.bits == bits_of(product.a_type); });
  product.wave_size = kWarpSize;
  product.a = found->a;
  product.b = found->b;
  product.c = product.d = kSums;
}

bool take_matrix_rounding(PtxName& name, MatrixProduct& product) {
  std::optional<Rounding> rounding = take_rounding(name);
  if (rounding && *rounding != Rounding::kNearest) {
    product.fused = [rounding](llvm::IRBuilderBase& builder, llvm::ArrayRef<llvm::Value*> in) {
      return call_rounded(builder, "fma", builder.getDoubleTy(), in, *rounding);
    };
  }
  return rounding.has_value();
}

std::optional<Element> matrix_element(StringRef text) {
  static const std::pair<StringRef, Element> kNames[] = {
      {"f16", Element::kHalf},     {"bf16", Element::kBrain},   {"tf32", Element::kTensorFloat},
      {"f64", Element::kDouble},   {"e4m3", Element::kE4m3},    {"e5m2", Element::kE5m2},
      {"s8", Element::kSigned8},   {"u8", Element::kUnsigned8}, {"s4", Element::kSigned4},
      {"u4", Element::kUnsigned4}, {"b1", Element::kBits}};
  for (auto [name, element] : kNames) {
    if (text == name) return element;
  }
  return std::nullopt;
}

std::optional<Element> sum_element(StringRef text) {
  if (text == "f16") return Element::kHalf;
  if (text == "f32") return Element::kSingle;
  if (text == "f64") return Element::kDouble;
  return text == "s32" ? std::optional(Element::kInteger) : std::nullopt;
}

std::optional<MatrixShape> matrix_shape(StringRef text) {
  MatrixShape shape;
  bool known = text.consume_front("m") && !text.consumeInteger(10, shape.m) && text.consume_front("n") &&
               !text.consumeInteger(10, shape.n) && text.consume_front("k") && !text.getAsInteger(10, shape.k);
  return known ? std::optional(shape) : std::nullopt;
}

unsigned registers_of(const Fragment& fragment, Element element) {
  return element == Element::kDouble ? fragment.elements() : fragment.elements() * bits_of(element) / 32;
}

llvm::Type* register_type(llvm::IRBuilderBase& builder, Element element) {
  return element == Element::kDouble ? builder.getInt64Ty() : builder.getInt32Ty();
}

PtxResult raise_product(PtxInstruction& instruction, const MatrixProduct& product, unsigned more) {
  Fragment::Axes stored = product.extent;
  if (product.sparse) stored.depth /= 2;
  unsigned a = registers_of({product.a, stored}, product.a_type),
           b = registers_of({product.b, product.extent}, product.b_type),
           c = registers_of({product.c, product.extent}, product.c_type),
           d = registers_of({product.d, product.extent}, product.d_type);
  if (instruction.operands.size() != a + b + c + more || instruction.results != d) return std::nullopt;
  unsigned next = 0;
  auto take = [&](unsigned count, Element element) {
    PtxValues registers;
    for (unsigned i = 0; i < count; ++i) {
      registers.push_back(
          as_type(instruction.builder, instruction.operands[next++], register_type(instruction.builder, element)));
    }
    return registers;
  };
  PtxValues left = take(a, product.a_type), right = take(b, product.b_type), sums = take(c, product.c_type);
  auto results = multiply_matrices(instruction.builder, product, left, right, sums);
  return PtxValues(results.begin(), results.end());
}

}  // namespace mneme::codegen::host
