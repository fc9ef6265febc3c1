// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mma and mma.sp: which there are. The shapes, and the fragments of m8n8k4 and of what says where a sparse matrix has
// its elements, are those of the PTX ISA 9.0, "Matrix multiply-accumulate operation using mma instruction" and "… using
// mma.sp instruction with sparse matrix A".
//
// Precision: the ISA has products of f16, bf16, tf32 and fp8 "at least single precision", and leaves order and rounding
// of the sums open (matrix_product.h says how they are here); those of f64 are fused multiply-adds.
#include <llvm/ADT/STLExtras.h>

#include "codegen/host/dialect/nvptx/ptx/matrix.h"
#include "codegen/host/dialect/nvptx/ptx/waves.h"

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;
using llvm::Value;

// m8n8k4 of halves, of sm_70: four products, each of eight lanes, of which four have a number that is larger by 16.
struct Quads {
  const char *row, *column;
};
constexpr Quads kQuadsOfA = {"r0 r1 b0 b1 r2 | k0 k1", "k0 k1 b0 b1 r2 | r0 r1"},
                kQuadsOfB = {"k0 k1 b0 b1 c2 | c0 c1", "c0 c1 b0 b1 c2 | k0 k1"};
constexpr const char *kQuadsOfHalfSums = "r0 r1 b0 b1 r2 | c0 c1 c2", *kQuadsOfSums = "r0 c1 b0 b1 r2 | c0 r1 c2";

// Shapes by the bits of an element of A.
constexpr MatrixShape kOf64[] = {{8, 8, 4}, {16, 8, 4}, {16, 8, 8}, {16, 8, 16}}, kOf32[] = {{16, 8, 4}, {16, 8, 8}},
                      kSparseOf32[] = {{16, 8, 8}, {16, 8, 16}}, kOf16[] = {{8, 8, 4}, {16, 8, 8}, {16, 8, 16}},
                      kSparseOf16[] = {{16, 8, 16}, {16, 8, 32}}, kOf8[] = {{8, 8, 16}, {16, 8, 16}, {16, 8, 32}},
                      kSparseOf8[] = {{16, 8, 32}, {16, 8, 64}}, kOf4[] = {{8, 8, 32}, {16, 8, 32}, {16, 8, 64}},
                      kSparseOf4[] = {{16, 8, 64}, {16, 8, 128}}, kOf1[] = {{8, 8, 128}, {16, 8, 128}, {16, 8, 256}};

// Where the bits of a row of A are that say which columns its elements are in (two for each), in pieces of 16: by how
// many pieces a row has. The selector chooses the lanes of each four that have them, the "s".
struct Chosen {
  unsigned pieces;
  bool halves;  // of elements of 16 bits and more; of smaller ones the rows stand apart
  const char* fragment;
};
constexpr Chosen kChosen[] = {{1, true, "s0 s1 r0 r1 r2 | r3"},
                              {2, true, "c0 s0 r0 r1 r2 | r3"},
                              {2, false, "r3 s0 r0 r1 r2 | c0"},
                              {4, false, "r3 c1 r0 r1 r2 | c0"}};

class Multiplication {
 public:
  explicit Multiplication(PtxInstruction& instruction) : instruction_(instruction), name_(instruction.name) {}

  PtxResult raise() {
    if (!read_name() || !choose_fragments()) return std::nullopt;
    if (!is_sparse_) return raise_product(instruction_, product_);
    return choose_columns() ? raise_product(instruction_, product_, 2) : std::nullopt;
  }

 private:
  // mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32: the types of D, A, B, C.
  bool read_name() {
    is_sparse_ = name_.take("sp") || name_.take("sp::ordered_metadata");
    if (!name_.take("sync") || !name_.take("aligned")) return false;
    product_.both_bits = name_.take("and");
    of_bits_ = product_.both_bits || name_.take("xor");
    if (of_bits_ && !name_.take("popc")) return false;
    auto shape = matrix_shape(name_.take_first());
    if (!shape) return false;
    shape_ = *shape;
    a_layout_ = name_.take_first();
    b_layout_ = name_.take_first();
    product_.saturates = name_.take("satfinite");
    bool rounds = take_matrix_rounding(name_, product_);
    auto d = sum_element(name_.take_first()), a = matrix_element(name_.take_first()),
         b = matrix_element(name_.take_first()), c = sum_element(name_.take_first());
    if (!d || !a || !b || !c || !name_.is_used_up() || (rounds && *a != Element::kDouble)) return false;
    product_.a_type = *a, product_.b_type = *b, product_.c_type = *c, product_.d_type = *d;
    return types_fit() && is_layout(a_layout_) && is_layout(b_layout_);
  }

  static bool is_layout(StringRef text) { return text == "row" || text == "col"; }

  // Signed and unsigned integers of one size mix, and the two kinds of fp8.
  bool types_fit() const {
    Element a = product_.a_type, b = product_.b_type, c = product_.c_type, d = product_.d_type;
    if (of_bits_ != (a == Element::kBits)) return false;
    bool integers = a == Element::kBits || a == Element::kSigned8 || a == Element::kUnsigned8 ||
                    a == Element::kSigned4 || a == Element::kUnsigned4;
    bool small = a == Element::kE4m3 || a == Element::kE5m2;
    if (small && b != Element::kE4m3 && b != Element::kE5m2) return false;
    if (integers && (bits_of(a) != bits_of(b) || (a == Element::kBits) != (b == Element::kBits))) return false;
    if (bits_of(a) == 8 && !integers && !small) return false;
    if (!integers && !small && a != b) return false;
    if (product_.saturates && (!integers || of_bits_)) return false;
    if (integers) return c == Element::kInteger && d == c;
    if (a == Element::kDouble) return c == Element::kDouble && d == c;
    bool halves = a == Element::kHalf || small;
    auto fits = [&](Element sum) { return sum == Element::kSingle || (sum == Element::kHalf && halves); };
    return fits(c) && fits(d);
  }

  unsigned bits() const { return of_bits_ ? 1 : bits_of(product_.a_type); }

  bool is_shape() const {
    auto has = [&](llvm::ArrayRef<MatrixShape> dense, llvm::ArrayRef<MatrixShape> sparse) {
      return llvm::is_contained(is_sparse_ ? sparse : dense, shape_);
    };
    switch (bits()) {
      case 64:
        return has(kOf64, {});
      case 32:
        return has(kOf32, kSparseOf32);
      case 16:
        return has(kOf16, kSparseOf16) && (shape_.k != 4 || product_.a_type == Element::kHalf);
      case 8:
        return has(kOf8, kSparseOf8) && (shape_.m == 16 || is_integer());
      case 4:
        return has(kOf4, kSparseOf4);
      default:
        return has(kOf1, {});
    }
  }
  bool is_integer() const { return product_.c_type == Element::kInteger; }

  bool choose_fragments() {
    if (!is_shape()) return false;
    product_.extent = {shape_.m, shape_.n, of_bits_ ? shape_.k / 32 : shape_.k, 1};
    if (bits() == 16 && shape_.k == 4) {
      auto of = [](const Quads& quads, StringRef layout) { return layout == "row" ? quads.row : quads.column; };
      auto sums = [](Element element) { return element == Element::kHalf ? kQuadsOfHalfSums : kQuadsOfSums; };
      product_.wave_size = kWarpSize;
      product_.extent.blocks = 4;
      product_.a = of(kQuadsOfA, a_layout_);
      product_.b = of(kQuadsOfB, b_layout_);
      product_.c = sums(product_.c_type);
      product_.d = sums(product_.d_type);
      return true;
    }
    if (a_layout_ != "row" || b_layout_ != "col") return false;
    take_fragments(product_);
    return true;
  }

  // The last two operands: the lane's word, and the selector, a constant.
  bool choose_columns() {
    auto& in = instruction_.operands;
    if (in.size() < 2) return false;
    auto* selector = llvm::dyn_cast<llvm::ConstantInt>(in.back());
    if (!selector) return false;
    unsigned width = bits();
    unsigned pieces = shape_.k / (width == 32 ? 8 : width == 4 ? 32 : 16);
    const Chosen* chosen =
        llvm::find_if(kChosen, [&](const Chosen& one) { return one.pieces == pieces && one.halves == (width >= 16); });
    if (chosen == std::end(kChosen)) return false;
    Value* word = as_type(instruction_.builder, in[in.size() - 2], instruction_.builder.getInt32Ty());
    product_.sparse = {chosen->fragment, 16, static_cast<unsigned>(selector->getZExtValue()), word};
    return true;
  }

  PtxInstruction& instruction_;
  PtxName& name_;
  MatrixProduct product_{};
  MatrixShape shape_;
  StringRef a_layout_, b_layout_;
  bool is_sparse_ = false, of_bits_ = false;
};

}  // namespace

PtxResult raise_ptx_mma(PtxInstruction& instruction) { return Multiplication(instruction).raise(); }

}  // namespace mneme::codegen::host
