// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// wmma: a warp's matrices, loaded from memory, multiplied and stored. PTX ISA 9.0, "Matrix multiply-accumulate
// operation using wmma instructions".
#include <llvm/ADT/STLExtras.h>

#include "codegen/host/dialect/nvptx/ptx/matrix.h"
#include "codegen/host/dialect/nvptx/ptx/memory.h"
#include "codegen/host/dialect/nvptx/ptx/waves.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;
using llvm::Value;

// By the bits of an element of A: 64, 32, 16 or 8, 4, 1.
constexpr MatrixShape kOf64[] = {{8, 8, 4}}, kOf32[] = {{16, 16, 8}},
                      kOfFew[] = {{16, 16, 16}, {32, 8, 16}, {8, 32, 16}}, kOf4[] = {{8, 8, 32}},
                      kOf1[] = {{8, 8, 128}};

class Wmma {
 public:
  explicit Wmma(PtxInstruction& instruction)
      : instruction_(instruction), name_(instruction.name), builder_(instruction.builder) {}

  PtxResult raise() {
    if (!name_.take("sync") || !name_.take("aligned")) return std::nullopt;
    if (name_.take("load")) return raise_access(false);
    if (name_.take("store")) return raise_access(true);
    return name_.take("mma") ? raise_mma() : std::nullopt;
  }

 private:
  bool read_shape() {
    auto shape = matrix_shape(name_.take_first());
    if (shape) shape_ = *shape;
    return shape.has_value();
  }

  // What is known of the product when the type of A is: whether there is such a shape, and the fragments.
  bool choose(Element a) {
    unsigned bits = a == Element::kBits ? 1 : bits_of(a);
    llvm::ArrayRef<MatrixShape> shapes = kOfFew;
    if (bits == 64) shapes = kOf64;
    if (bits == 32) shapes = kOf32;
    if (bits == 4) shapes = kOf4;
    if (bits == 1) shapes = kOf1;
    if (!llvm::is_contained(shapes, shape_) || a == Element::kE4m3 || a == Element::kE5m2) return false;
    product_.a_type = product_.b_type = a;
    product_.extent = {shape_.m, shape_.n, bits == 1 ? shape_.k / 32 : shape_.k, 1};
    take_fragments(product_);
    if (a == Element::kHalf) {
      pad(product_.a);
      pad(product_.b);
    }
    return true;
  }

  // Fragments of halves have sixteen, some of them more than once, as on sm_70.
  void pad(std::string& fragment) const {
    while (Fragment(fragment, product_.extent).elements() < 16) fragment += " -";
  }

  // wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {registers}, [place], stride
  PtxResult raise_access(bool stores) {
    StringRef matrix = stores ? name_.take_one_of({"d"}) : name_.take_one_of({"a", "b", "c"});
    StringRef layout = name_.take_one_of({"row", "col"}), space = take_ptx_space(name_);
    if (matrix.empty() || layout.empty() || !read_shape()) return std::nullopt;
    StringRef type = name_.take_first();
    if (!name_.is_used_up()) return std::nullopt;
    std::optional<Element> element;
    if (matrix == "a" || matrix == "b") {
      element = matrix_element(type);
      if (!element || !choose(*element)) return std::nullopt;
    } else {
      element = sum_element(type);
      if (!element || !choose_by_sum(*element)) return std::nullopt;
    }
    Fragment fragment(matrix == "a" ? product_.a : matrix == "b" ? product_.b : product_.c, product_.extent);
    unsigned count = registers_of(fragment, *element), others = stores ? 1 + count : 1;
    auto& in = instruction_.operands;
    if (instruction_.results != (stores ? 0 : count) || (in.size() != others && in.size() != others + 1)) {
      return std::nullopt;
    }
    // Rows stand one behind the other, or columns do.
    const char row = matrix == "b" ? 'k' : 'r', column = matrix == "a" ? 'k' : 'c';
    slow_ = layout == "row" ? row : column;
    fast_ = layout == "row" ? column : row;
    stride_ = in.size() > others ? as_type(builder_, in.back(), builder_.getInt32Ty()) : nullptr;
    if (!stride_) stride_ = builder_.getInt32(fast_ == 'r' ? shape_.m : fast_ == 'c' ? shape_.n : shape_.k);
    if (*element == Element::kBits) stride_ = builder_.CreateLShr(stride_, 5);
    place_ = ptx_address(builder_, in[0], space);
    if (!place_) return std::nullopt;
    return stores ? store(fragment, *element, llvm::ArrayRef(in).slice(1, count)) : load(fragment, *element);
  }

  // Any type of A that such a sum and shape go with: their fragments are the same.
  bool choose_by_sum(Element sum) {
    static constexpr Element kOfA[] = {Element::kBrain, Element::kTensorFloat, Element::kDouble, Element::kSigned4,
                                       Element::kBits};
    if (llvm::none_of(kOfA, [&](Element a) { return choose(a); })) return false;
    bool few = shape_.k == 16;
    switch (sum) {
      case Element::kHalf:
        return few;
      case Element::kSingle:
        return few || shape_ == kOf32[0];
      case Element::kDouble:
        return shape_ == kOf64[0];
      default:
        return few || shape_ == kOf4[0] || shape_ == kOf1[0];
    }
  }

  // Where the lane's element e is.
  Value* address(const Fragment& fragment, unsigned e, unsigned bits) {
    Value* lane = lane_index(builder_, kWarpSize);
    auto on = [&](char axis) {
      return builder_.CreateAdd(fragment.of_lane(builder_, lane, axis),
                                builder_.getInt32(fragment.of_element(e, axis)));
    };
    Value* index = builder_.CreateAdd(builder_.CreateMul(on(slow_), stride_), on(fast_));
    Value* place = builder_.CreateMul(builder_.CreateZExt(index, builder_.getInt64Ty()), builder_.getInt64(bits));
    return builder_.CreateGEP(builder_.getInt8Ty(), place_, builder_.CreateLShr(place, 3));
  }

  // A register at a time where its elements are neighbours.
  bool is_whole(const Fragment& fragment, unsigned per_register) const {
    return fragment.runs_along(fast_, per_register);
  }

  PtxResult load(const Fragment& fragment, Element element) {
    llvm::Type* word = register_type(builder_, element);
    unsigned bits = bits_of(element), per_register = word->getIntegerBitWidth() / bits;
    bool whole = is_whole(fragment, per_register);
    if (!whole && bits < 8) return std::nullopt;
    llvm::Type* type = whole ? word : builder_.getIntNTy(bits);
    PtxValues registers;
    for (unsigned e = 0; e < fragment.elements(); e += whole ? per_register : 1) {
      Value* value = builder_.CreateAlignedLoad(type, address(fragment, e, bits), alignment(type));
      value = builder_.CreateZExt(value, word);
      if (e % per_register == 0) {
        registers.push_back(value);
      } else {
        registers.back() = builder_.CreateOr(registers.back(), builder_.CreateShl(value, e % per_register * bits));
      }
    }
    return registers;
  }

  PtxResult store(const Fragment& fragment, Element element, llvm::ArrayRef<Value*> registers) {
    llvm::Type* word = register_type(builder_, element);
    unsigned bits = bits_of(element), per_register = word->getIntegerBitWidth() / bits;
    bool whole = is_whole(fragment, per_register);
    llvm::Type* type = whole ? word : builder_.getIntNTy(bits);
    for (unsigned e = 0; e < fragment.elements(); e += whole ? per_register : 1) {
      Value* value = as_type(builder_, registers[e / per_register], word);
      value = builder_.CreateTrunc(builder_.CreateLShr(value, uint64_t{e % per_register} * bits), type);
      builder_.CreateAlignedStore(value, address(fragment, e, bits), alignment(type));
    }
    return PtxValues{};
  }

  static llvm::Align alignment(llvm::Type* type) { return llvm::Align(type->getIntegerBitWidth() / 8); }

  // wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32: the types of D and C, of halves; else of D, A, B, C.
  PtxResult raise_mma() {
    product_.both_bits = name_.take("and");
    bool of_bits = product_.both_bits || name_.take("xor");
    if (of_bits && !name_.take("popc")) return std::nullopt;
    bool has_layouts = !name_.take_one_of({"row", "col"}).empty() && !name_.take_one_of({"row", "col"}).empty();
    bool saturates = name_.take("satfinite");
    bool rounds = take_matrix_rounding(name_, product_);
    if (!has_layouts || !read_shape()) return std::nullopt;
    llvm::SmallVector<StringRef, 4> types;
    while (!name_.is_used_up()) types.push_back(name_.take_first());
    if (types.size() != 2 && types.size() != 4) return std::nullopt;
    bool halves = types.size() == 2;
    auto d = sum_element(types.front()), c = sum_element(types.back());
    auto a = matrix_element(halves ? "f16" : types[1]), b = matrix_element(halves ? "f16" : types[2]);
    if (!a || !b || !c || !d || a != b || !choose(*a) || of_bits != (*a == Element::kBits)) return std::nullopt;
    Element sum = *a == Element::kDouble                                 ? Element::kDouble
                  : *a == Element::kBrain || *a == Element::kTensorFloat ? Element::kSingle
                                                                         : Element::kInteger;
    if (rounds && sum != Element::kDouble) return std::nullopt;
    bool fits = *a == Element::kHalf ? is_float(*c) && is_float(*d) : *c == sum && *d == sum;
    if (!fits || (saturates && *a != Element::kHalf && (sum != Element::kInteger || of_bits))) return std::nullopt;
    product_.c_type = *c;
    product_.d_type = *d;
    product_.saturates = saturates;
    return raise_product(instruction_, product_);
  }
  static bool is_float(Element sum) { return sum == Element::kHalf || sum == Element::kSingle; }

  PtxInstruction& instruction_;
  PtxName& name_;
  llvm::IRBuilderBase& builder_;
  MatrixShape shape_;
  MatrixProduct product_{};
  char slow_ = 'r', fast_ = 'c';
  Value *stride_ = nullptr, *place_ = nullptr;
};

}  // namespace

PtxResult raise_ptx_wmma(PtxInstruction& instruction) { return Wmma(instruction).raise(); }

}  // namespace mneme::codegen::host
