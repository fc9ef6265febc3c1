// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In the memory of the wave, each lane writes its elements of A, B and C as numbers; then lane i computes row i of D;
// then each lane reads its elements of D.
//
//   for e: A[row(lane, e)][k(lane, e)] = number(a, e);  likewise B and C
//   all lanes meet
//   if lane < rows:  d[*] = C[lane][*];  for k: d[*] += A[lane][k] * B[k][*];  D[lane][*] = d[*]
//   all lanes meet
//   for e: D[row(lane, e)][column(lane, e)]
//
// D has memory of its own, so that a lane may begin with the next product while others read this one's.
#include "codegen/host/dialect/matrix_product.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/Support/MathExtras.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <cmath>

#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilderBase;
using Values = llvm::SmallVector<Value*, 8>;

constexpr unsigned kAlign = 64;

bool is_integer(Element element) { return element >= Element::kSigned8; }
bool is_signed(Element element) { return element == Element::kSigned8 || element == Element::kSigned4; }
// Products of which are rounded.
bool is_wide(Element element) { return element == Element::kSingle || element == Element::kDouble; }

llvm::Type* vector_of(llvm::Type* type, unsigned count) { return llvm::FixedVectorType::get(type, count); }
// As many as `like` has.
llvm::Type* shaped(llvm::Type* type, llvm::Type* like) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like);
  return vector ? vector_of(type, vector->getNumElements()) : type;
}

struct SmallFormat {
  unsigned fraction, bias;
  bool fnuz;
};

// Of eight bits in a word (i32): a single.
Value* small_number(Builder& builder, Value* word, const SmallFormat& format) {
  llvm::Type* single = builder.getFloatTy();
  Value* size = builder.CreateAnd(word, 0x7f);
  Value* normal =
      builder.CreateAdd(builder.CreateShl(size, 23 - format.fraction), builder.getInt32((127 - format.bias) << 23));
  double unit = std::ldexp(1.0, 1 - static_cast<int>(format.bias + format.fraction));
  Value* small = builder.CreateFMul(builder.CreateUIToFP(size, single), llvm::ConstantFP::get(single, unit));
  Value* is_small = builder.CreateICmpULT(size, builder.getInt32(1u << format.fraction));
  Value* bits = builder.CreateSelect(is_small, builder.CreateBitCast(small, builder.getInt32Ty()), normal);
  if (format.fnuz) {
    Value* number = builder.CreateOr(bits, builder.CreateShl(builder.CreateAnd(word, 0x80), 24));
    Value* is_nan = builder.CreateICmpEQ(builder.CreateAnd(word, 0xff), builder.getInt32(0x80));
    return builder.CreateBitCast(builder.CreateSelect(is_nan, builder.getInt32(0x7fc00000), number), single);
  }
  // e5m2 has infinities as other formats have; e4m3 has one NaN of each sign.
  bool has_infinity = format.fraction == 2;
  Value* first = builder.getInt32(has_infinity ? 0x7d : 0x7f);
  bits = builder.CreateSelect(builder.CreateICmpUGE(size, first), builder.getInt32(0x7fc00000), bits);
  if (has_infinity) {
    Value* infinite = builder.CreateICmpEQ(size, builder.getInt32(0x7c));
    bits = builder.CreateSelect(infinite, builder.getInt32(0x7f800000), bits);
  }
  return builder.CreateBitCast(builder.CreateOr(bits, builder.CreateShl(builder.CreateAnd(word, 0x80), 24)), single);
}

// A product, on its way.
class Product {
 public:
  Product(Builder& builder, const MatrixProduct& product)
      : builder_(builder),
        product_(product),
        extent_(product.extent),
        stored_(product.extent),
        lane_(lane_index(builder, product.wave_size)) {
    if (product.sparse) stored_.depth /= 2;
    unsigned rows = extent_.rows, columns = extent_.columns, depth = extent_.depth, blocks = extent_.blocks;
    a_ = reserve(number_type(product.a_type), rows * stored_.depth * blocks,
                 {stored_.depth, 0, 1, rows * stored_.depth});
    // Of all rows, so it is widened before; A's only of one.
    b_ = reserve(total_type(), depth * columns * blocks, {0, 1, columns, depth * columns});
    c_ = reserve(sum_type(product.c_type), rows * columns * blocks, {columns, 1, 0, rows * columns});
    d_ = reserve(sum_type(product.d_type), rows * columns * blocks, {columns, 1, 0, rows * columns});
    // Rows behind the last take what lanes have that are not chosen.
    if (product.sparse) bits_ = reserve(builder.getInt64Ty(), 2 * rows, {1, 0, 0, 0});
    memory_ = call_wave_memory(builder, bytes_);
  }

  Values multiply(llvm::ArrayRef<Value*> a, llvm::ArrayRef<Value*> b, llvm::ArrayRef<Value*> c) {
    write(a_, Fragment(product_.a, stored_), a, product_.a_type);
    write(b_, Fragment(product_.b, extent_), b, product_.b_type);
    write(c_, Fragment(product_.c, extent_), c, product_.c_type, true);
    if (product_.sparse) write_bits();
    meet();
    compute_rows();
    meet();
    return read(c);
  }

 private:
  struct Array {
    llvm::Type* type;
    uint32_t offset;         // in the wave's memory
    Fragment::Axes strides;  // in elements
  };

  // No mneme.wave.sync: the kernel may have one for its own memory, whose accesses would be kept in order then.
  void meet() { call_ballot(builder_, builder_.getTrue()); }

  Array reserve(llvm::Type* type, unsigned count, const Fragment::Axes& strides) {
    Array array = {type, bytes_, strides};
    bytes_ += llvm::alignTo(uint64_t{count} * type->getPrimitiveSizeInBits() / 8, kAlign);
    return array;
  }

  // Of an element of A or B, in memory.
  llvm::Type* number_type(Element element) {
    if (is_integer(element)) return builder_.getInt32Ty();
    return element == Element::kDouble ? builder_.getDoubleTy() : builder_.getFloatTy();
  }
  // Of one of C or D.
  llvm::Type* sum_type(Element element) {
    switch (element) {
      case Element::kHalf:
        return builder_.getHalfTy();
      case Element::kBrain:
        return builder_.getInt16Ty();
      case Element::kSingle:
        return builder_.getFloatTy();
      case Element::kDouble:
        return builder_.getDoubleTy();
      default:
        return builder_.getInt32Ty();
    }
  }
  // What sums are computed in.
  llvm::Type* total_type() {
    if (is_integer(product_.a_type)) return builder_.getInt32Ty();
    return product_.a_type == Element::kSingle ? builder_.getFloatTy() : builder_.getDoubleTy();
  }

  Value* address(const Array& array, Value* index, unsigned more = 0) {
    Value* first = builder_.CreateConstInBoundsGEP1_32(builder_.getInt8Ty(), memory_, array.offset);
    Value* at = builder_.CreateInBoundsGEP(array.type, first, builder_.CreateZExt(index, builder_.getInt64Ty()));
    return more ? builder_.CreateConstInBoundsGEP1_32(array.type, at, more) : at;
  }

  // Element e of a fragment's registers, as an integer.
  Value* element(llvm::ArrayRef<Value*> registers, unsigned e, unsigned bits) {
    unsigned per_register = registers[0]->getType()->getIntegerBitWidth() / bits;
    Value* word = registers[e / per_register];
    word = builder_.CreateLShr(word, uint64_t{e % per_register} * bits);
    return builder_.CreateTrunc(word, builder_.getIntNTy(bits));
  }

  // An element of A or B as a number.
  Value* number(Value* bits, Element type) {
    llvm::Type *single = builder_.getFloatTy(), *word = builder_.getInt32Ty();
    auto wide = [&] { return builder_.CreateZExt(bits, word); };
    switch (type) {
      case Element::kHalf:
        return builder_.CreateFPExt(builder_.CreateBitCast(bits, builder_.getHalfTy()), single);
      case Element::kBrain:
        return builder_.CreateBitCast(builder_.CreateShl(wide(), 16), single);
      case Element::kTensorFloat:
        return builder_.CreateBitCast(builder_.CreateAnd(bits, ~0x1fffu), single);
      case Element::kSingle:
        return builder_.CreateBitCast(bits, single);
      case Element::kDouble:
        return builder_.CreateBitCast(bits, builder_.getDoubleTy());
      case Element::kE4m3:
        return small_number(builder_, wide(), {3, 7, false});
      case Element::kE5m2:
        return small_number(builder_, wide(), {2, 15, false});
      case Element::kE4m3Fnuz:
        return small_number(builder_, wide(), {3, 8, true});
      case Element::kE5m2Fnuz:
        return small_number(builder_, wide(), {2, 16, true});
      default:
        return builder_.CreateIntCast(bits, word, is_signed(type));
    }
  }

  // Each lane its elements.
  void write(const Array& array, const Fragment& fragment, llvm::ArrayRef<Value*> registers, Element type,
             bool is_sum = false) {
    Value* first = fragment.place_of_lane(builder_, lane_, array.strides);
    for (unsigned e = 0; e < fragment.elements(); ++e) {
      Value* bits = element(registers, e, bits_of(type));
      Value* value = is_sum ? builder_.CreateBitCast(bits, array.type) : number(bits, type);
      if (value->getType() != array.type) value = builder_.CreateFPExt(value, array.type);
      builder_.CreateStore(value, address(array, first, fragment.place_of_element(e, array.strides)));
    }
  }

  // Lanes that are not chosen write behind the last row.
  void write_bits() {
    const Sparsity& sparse = *product_.sparse;
    const unsigned pieces = 64 / sparse.bits;
    Fragment fragment(sparse.fragment, {extent_.rows, pieces, 0, 0});
    Array array = {builder_.getIntNTy(sparse.bits), bits_.offset, {pieces, 1, 0, 0}};
    Value* first = fragment.place_of_lane(builder_, lane_, array.strides);
    first = builder_.CreateSelect(fragment.is_chosen(builder_, lane_, sparse.chosen), first,
                                  builder_.getInt32(extent_.rows * pieces));
    for (unsigned e = 0; e < fragment.elements(); ++e) {
      builder_.CreateStore(element({sparse.word}, e, sparse.bits),
                           address(array, first, fragment.place_of_element(e, array.strides)));
    }
  }

  void compute_rows() {
    unsigned rows = extent_.rows * extent_.blocks;
    llvm::Instruction* place = &*builder_.GetInsertPoint();
    llvm::Instruction* inside = place;
    if (rows < product_.wave_size) {
      Value* has_row = builder_.CreateICmpULT(lane_, builder_.getInt32(rows));
      inside = llvm::SplitBlockAndInsertIfThen(has_row, place, false);
    }
    builder_.SetInsertPoint(inside);
    compute_row(inside);
    builder_.SetInsertPoint(place);
  }

  // The loop is split off ahead of `place`.
  void compute_row(llvm::Instruction* place) {
    unsigned columns = extent_.columns;
    Value* row = builder_.CreateMul(lane_, builder_.getInt32(columns));
    Value* first = load_row(c_, row);
    Value* initial =
        is_integer(product_.a_type) ? llvm::Constant::getNullValue(vector_of(total_type(), columns)) : widened(first);
    Value* block = builder_.CreateUDiv(lane_, builder_.getInt32(extent_.rows));
    Value* b = builder_.CreateMul(block, builder_.getInt32(extent_.depth * columns));
    Value* a = builder_.CreateMul(lane_, builder_.getInt32(stored_.depth));
    Value* bits = product_.sparse ? builder_.CreateLoad(builder_.getInt64Ty(), address(bits_, lane_)) : nullptr;

    llvm::BasicBlock* before = place->getParent();
    llvm::BasicBlock* after = llvm::SplitBlock(before, place);
    llvm::BasicBlock* round = llvm::BasicBlock::Create(builder_.getContext(), "product", before->getParent(), after);
    before->getTerminator()->setSuccessor(0, round);
    builder_.SetInsertPoint(round);
    llvm::PHINode* k = builder_.CreatePHI(builder_.getInt32Ty(), 2);
    llvm::PHINode* sum = builder_.CreatePHI(initial->getType(), 2);
    k->addIncoming(builder_.getInt32(0), before);
    sum->addIncoming(initial, before);
    Value* left = builder_.CreateLoad(a_.type, address(a_, builder_.CreateAdd(a, k)));
    Value* column = bits ? column_of(bits, k) : k;
    Value* from = builder_.CreateAdd(b, builder_.CreateMul(column, builder_.getInt32(columns)));
    Value* right = load_row(b_, from);
    Value* total = add_product(sum, left, right);
    Value* next = builder_.CreateAdd(k, builder_.getInt32(1));
    k->addIncoming(next, round);
    sum->addIncoming(total, round);
    builder_.CreateCondBr(builder_.CreateICmpULT(next, builder_.getInt32(stored_.depth)), round, after);
    builder_.SetInsertPoint(place);
    builder_.CreateAlignedStore(rounded(total, first), address(d_, row), alignment(d_.type));
  }

  // Of B, C or D; no better aligned than an element.
  Value* load_row(const Array& array, Value* index) {
    return builder_.CreateAlignedLoad(vector_of(array.type, extent_.columns), address(array, index),
                                      alignment(array.type));
  }
  static llvm::Align alignment(llvm::Type* type) { return llvm::Align(type->getScalarSizeInBits() / 8); }

  // Where an element that is stored at k belongs. What stands together in fours are halves of tf32, pairs of four bits,
  // and else elements.
  Value* column_of(Value* bits, Value* k) {
    unsigned width = bits_of(product_.a_type);
    Value* unit = width == 32 ? builder_.CreateShl(k, 1) : width == 4 ? builder_.CreateLShr(k, 1) : k;
    Value* shift = builder_.CreateZExt(builder_.CreateShl(unit, 1), builder_.getInt64Ty());
    Value* index = builder_.CreateTrunc(builder_.CreateAnd(builder_.CreateLShr(bits, shift), 3), builder_.getInt32Ty());
    Value* group = builder_.CreateShl(builder_.CreateLShr(unit, 1), 2);
    Value* position = builder_.CreateOr(group, index);
    if (width == 32) return builder_.CreateLShr(position, 1);
    if (width == 4) return builder_.CreateOr(builder_.CreateShl(position, 1), builder_.CreateAnd(k, 1));
    return position;
  }

  Value* add_product(Value* sum, Value* left, Value* right) {
    unsigned columns = extent_.columns;
    llvm::Type* total = total_type();
    if (is_integer(product_.a_type)) {
      left = builder_.CreateVectorSplat(columns, left);
      if (product_.a_type != Element::kBits) return builder_.CreateAdd(sum, builder_.CreateMul(left, right));
      Value* both = product_.both_bits ? builder_.CreateAnd(left, right) : builder_.CreateXor(left, right);
      return builder_.CreateAdd(sum, builder_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, both));
    }
    if (left->getType() != total) left = builder_.CreateFPExt(left, total);
    if (product_.fused) return fused(sum, left, right);
    left = builder_.CreateVectorSplat(columns, left);
    if (is_wide(product_.a_type)) {
      return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {left, right, sum});
    }
    return builder_.CreateFAdd(sum, builder_.CreateFMul(left, right));
  }

  Value* fused(Value* sum, Value* left, Value* right) {
    for (uint64_t i = 0; i < extent_.columns; ++i) {
      Value* one = builder_.CreateExtractElement(right, i);
      one = product_.fused(builder_, {left, one, builder_.CreateExtractElement(sum, i)});
      sum = builder_.CreateInsertElement(sum, one, i);
    }
    return sum;
  }

  // C's as sums.
  Value* widened(Value* values) {
    llvm::Type* total = shaped(total_type(), values->getType());
    if (product_.c_type == Element::kBrain) {
      llvm::Type* word = shaped(builder_.getInt32Ty(), total);
      values = builder_.CreateBitCast(builder_.CreateShl(builder_.CreateZExt(values, word), 16),
                                      shaped(builder_.getFloatTy(), total));
    }
    return values->getType() == total ? values : builder_.CreateFPExt(values, total);
  }

  // D's of sums; `first` are C's.
  Value* rounded(Value* total, Value* first) {
    llvm::Type* type = shaped(d_.type, total->getType());
    if (is_integer(product_.a_type)) {
      if (!product_.saturates) return builder_.CreateAdd(first, total);
      return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_sat, first, total);
    }
    if (product_.d_type == Element::kDouble) return total;
    llvm::Type* single = shaped(builder_.getFloatTy(), total->getType());
    if (total->getType() != single) total = builder_.CreateFPTrunc(total, single);
    if (product_.d_type == Element::kHalf) total = builder_.CreateFPTrunc(total, type);
    if (product_.d_type == Element::kBrain) return brain(total);
    if (product_.saturates) {
      const llvm::fltSemantics& semantics = total->getType()->getScalarType()->getFltSemantics();
      Value* most = llvm::ConstantFP::get(total->getType(), llvm::APFloat::getLargest(semantics));
      Value* least = llvm::ConstantFP::get(total->getType(), llvm::APFloat::getLargest(semantics, true));
      total = builder_.CreateSelect(builder_.CreateFCmpOGT(total, most), most, total);
      total = builder_.CreateSelect(builder_.CreateFCmpOLT(total, least), least, total);
    }
    return total;
  }

  // To the nearest; a NaN stays one.
  Value* brain(Value* singles) {
    llvm::Type* word = shaped(builder_.getInt32Ty(), singles->getType());
    auto all = [&](uint32_t value) { return llvm::ConstantInt::get(word, value); };
    Value* bits = builder_.CreateBitCast(singles, word);
    Value* odd = builder_.CreateAnd(builder_.CreateLShr(bits, all(16)), all(1));
    Value* nearest = builder_.CreateAdd(bits, builder_.CreateAdd(odd, all(0x7fff)));
    Value* is_nan = builder_.CreateFCmpUNO(singles, singles);
    bits = builder_.CreateSelect(is_nan, builder_.CreateOr(bits, all(0x400000)), nearest);
    return builder_.CreateTrunc(builder_.CreateLShr(bits, all(16)), shaped(builder_.getInt16Ty(), word));
  }

  // In registers as wide as those of C.
  Values read(llvm::ArrayRef<Value*> like) {
    Fragment fragment(product_.d, extent_);
    unsigned bits = bits_of(product_.d_type);
    auto* word = llvm::cast<llvm::IntegerType>(like[0]->getType());
    unsigned per_register = word->getBitWidth() / bits;
    Value* first = fragment.place_of_lane(builder_, lane_, d_.strides);
    Values results;
    for (unsigned e = 0; e < fragment.elements(); ++e) {
      Value* from = address(d_, first, fragment.place_of_element(e, d_.strides));
      Value* value = builder_.CreateLoad(builder_.getIntNTy(bits), from);
      value = builder_.CreateZExt(value, word);
      if (e % per_register == 0) {
        results.push_back(value);
      } else {
        results.back() = builder_.CreateOr(results.back(), builder_.CreateShl(value, e % per_register * bits));
      }
    }
    return results;
  }

  Builder& builder_;
  const MatrixProduct& product_;
  Fragment::Axes extent_, stored_;  // of A in registers
  uint32_t bytes_ = 0;
  Value* lane_;
  Value* memory_ = nullptr;
  Array a_ = {}, b_ = {}, c_ = {}, d_ = {}, bits_ = {};
};

}  // namespace

unsigned bits_of(Element element) {
  switch (element) {
    case Element::kHalf:
    case Element::kBrain:
      return 16;
    case Element::kDouble:
      return 64;
    case Element::kE4m3:
    case Element::kE5m2:
    case Element::kE4m3Fnuz:
    case Element::kE5m2Fnuz:
    case Element::kSigned8:
    case Element::kUnsigned8:
      return 8;
    case Element::kSigned4:
    case Element::kUnsigned4:
      return 4;
    default:
      return 32;
  }
}

llvm::SmallVector<Value*, 8> multiply_matrices(Builder& builder, const MatrixProduct& product, llvm::ArrayRef<Value*> a,
                                               llvm::ArrayRef<Value*> b, llvm::ArrayRef<Value*> c) {
  return Product(builder, product).multiply(a, b, c);
}

}  // namespace mneme::codegen::host
