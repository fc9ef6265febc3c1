// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMDGPU's instructions on matrices: MFMA and SMFMAC of gfx908, gfx90a and gfx942, WMMA of gfx11. Fragments are those
// of "AMD Instinct MI300 Instruction Set Architecture", 7.1, and of "RDNA3 Instruction Set Architecture", 7.9, and as
// AMD's Matrix Instruction Calculator prints them.
//
// Precision: as matrix_product.h says, which AMD's documents leave open but for fused multiply-adds of singles and
// doubles. xf32 is what is left of a single without its lowest thirteen bits.
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/Support/MathExtras.h>

#include "codegen/host/dialect/amdgpu/intrinsics.h"
#include "codegen/host/dialect/matrix_product.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilderBase;
using Registers = llvm::SmallVector<Value*, 32>;

constexpr uint32_t kLanes = 64;  // of MFMA

// "16x16x32.bf8.fp8", "32x32x8bf16.1k".
struct Shape {
  unsigned m = 0, n = 0, k = 0;
  Element a = Element::kHalf, b = Element::kHalf;
};

std::optional<Element> element_of(StringRef text) {
  return llvm::StringSwitch<std::optional<Element>>(text)
      .Case("f16", Element::kHalf)
      .Cases("bf16", "bf16.1k", Element::kBrain)
      .Case("f32", Element::kSingle)
      .Case("xf32", Element::kTensorFloat)
      .Case("f64", Element::kDouble)
      .Case("i8", Element::kSigned8)
      .Case("iu8", Element::kUnsigned8)
      .Case("iu4", Element::kUnsigned4)
      .Case("fp8", Element::kE4m3Fnuz)
      .Case("bf8", Element::kE5m2Fnuz)
      .Default(std::nullopt);
}

std::optional<Shape> shape_of(StringRef text) {
  Shape shape;
  bool known = !text.consumeInteger(10, shape.m) && text.consume_front("x") && !text.consumeInteger(10, shape.n) &&
               text.consume_front("x") && !text.consumeInteger(10, shape.k);
  text.consume_front(".");
  auto [first, second] = text.split('.');
  std::optional<Element> a = element_of(text), b = a;
  if (!a) a = element_of(first), b = element_of(second);
  if (!known || !a || !b) return std::nullopt;
  shape.a = *a, shape.b = *b;
  return shape;
}

std::optional<Element> sum_of(StringRef text) {
  return llvm::StringSwitch<std::optional<Element>>(text)
      .Case("f32", Element::kSingle)
      .Case("f64", Element::kDouble)
      .Case("i32", Element::kInteger)
      .Case("f16", Element::kHalf)
      .Case("bf16", Element::kBrain)
      .Default(std::nullopt);
}

// A vector's elements as integers, or a single value as one.
Registers registers_of(Builder& builder, Value* value) {
  Registers registers;
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  llvm::Type* word = builder.getIntNTy(value->getType()->getScalarSizeInBits());
  for (unsigned i = 0; i < (vector ? vector->getNumElements() : 1); ++i) {
    Value* one = vector ? builder.CreateExtractElement(value, uint64_t{i}) : value;
    registers.push_back(builder.CreateBitCast(one, word));
  }
  return registers;
}

Value* value_of(Builder& builder, llvm::ArrayRef<Value*> registers, llvm::Type* type) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (!vector) return builder.CreateBitCast(registers[0], type);
  Value* value = llvm::PoisonValue::get(type);
  for (uint64_t i = 0; i < registers.size(); ++i) {
    value = builder.CreateInsertElement(value, builder.CreateBitCast(registers[i], vector->getElementType()), i);
  }
  return value;
}

unsigned elements_of(Value* value, Element element) {
  return static_cast<unsigned>(value->getType()->getPrimitiveSizeInBits()) / bits_of(element);
}

std::string bits_from(char axis, unsigned first, unsigned end) {
  std::string text;
  for (unsigned i = first; i < end; ++i) text += std::string(" ") + axis + std::to_string(i);
  return text;
}

// Of A (rows) or B (columns): a lane has neighbours on k; lanes that follow one another have other rows, then other
// blocks, then what comes later on k.
std::string operand_fragment(char axis, unsigned rows, unsigned blocks, unsigned k, unsigned of_lane) {
  unsigned near = llvm::Log2_32(of_lane);
  return bits_from(axis, 0, llvm::Log2_32(rows)) + bits_from('b', 0, llvm::Log2_32(blocks)) +
         bits_from('k', near, llvm::Log2_32(k)) + " |" + bits_from('k', 0, near);
}

// Of C and D: a lane has one column, and four rows that follow one another, or of doubles every fourth.
const char* sum_fragment(unsigned rows, Element element) {
  if (element == Element::kDouble) return rows == 4 ? "c0 c1 b0 b1 r0 r1 |" : "c0 c1 c2 c3 r0 r1 | r2 r3";
  return rows == 4    ? "c0 c1 b0 b1 b2 b3 | r0 r1"
         : rows == 16 ? "c0 c1 c2 c3 r2 r3 | r0 r1 b0 b1"
                      : "c0 c1 c2 c3 c4 r2 | r0 r1 r3 r4 b0";
}

// Registers of the lanes that `from` names.
void take_from(Builder& builder, Registers& registers, Value* from) {
  for (Value*& value : registers) {
    llvm::Type* type = value->getType();
    Value* wide = type->getIntegerBitWidth() < 32 ? builder.CreateZExt(value, builder.getInt32Ty()) : value;
    value = builder.CreateZExtOrTrunc(call_permute(builder, wide, wide, from), type);
  }
}

// cbsz and abid: so many blocks, by their logarithm, take A from one among them.
void broadcast_block(Builder& builder, Registers& a, unsigned rows, unsigned cbsz, unsigned abid) {
  unsigned mask = ((1u << cbsz) - 1) * rows;
  Value* lane = builder.CreateAnd(lane_index(builder, kLanes), ~mask);
  take_from(builder, a, builder.CreateOr(lane, (abid * rows) & mask));
}

// blgp: of which lanes B comes from: one half for both, all 16 further, one quarter for all.
void choose_lanes(Builder& builder, Registers& b, unsigned blgp) {
  Value* lane = lane_index(builder, kLanes);
  Value* from = nullptr;
  if (blgp < 3) {
    from = builder.CreateOr(builder.CreateAnd(lane, 31), blgp == 2 ? 32 : 0);
  } else if (blgp == 3) {
    from = builder.CreateAnd(builder.CreateAdd(lane, builder.getInt32(16)), kLanes - 1);
  } else {
    from = builder.CreateOr(builder.CreateAnd(lane, 15), (blgp - 4) * 16);
  }
  take_from(builder, b, from);
}

void negate(Builder& builder, Registers& registers) {
  for (Value*& value : registers) {
    value = builder.CreateXor(value, llvm::APInt::getSignMask(value->getType()->getIntegerBitWidth()));
  }
}

unsigned constant(llvm::CallInst& call, unsigned operand) {
  return static_cast<unsigned>(llvm::cast<llvm::ConstantInt>(call.getArgOperand(operand))->getZExtValue());
}

Raised multiply(Builder& builder, llvm::CallInst& call, const MatrixProduct& product, const Registers& a,
                const Registers& b, const Registers& c) {
  return value_of(builder, multiply_matrices(builder, product, a, b, c), call.getType());
}

// mfma(a, b, c, cbsz, abid, blgp); smfmac(a, b, c, index, cbsz, abid), whose C is a sum, and A every second element.
Raised raise_mfma(Builder& builder, llvm::CallInst& call, StringRef name, bool sparse) {
  auto [result, rest] = name.split('.');
  auto sum = sum_of(result);
  auto shape = shape_of(rest);
  if (!sum || !shape) return std::nullopt;
  unsigned of_a = elements_of(call.getArgOperand(0), shape->a), of_b = elements_of(call.getArgOperand(1), shape->b);
  unsigned stored = sparse ? shape->k / 2 : shape->k, blocks = kLanes * of_a / (shape->m * stored);
  Registers a = registers_of(builder, call.getArgOperand(0)), b = registers_of(builder, call.getArgOperand(1)),
            c = registers_of(builder, call.getArgOperand(2));
  MatrixProduct product{};
  product.wave_size = kLanes;
  product.extent = {shape->m, shape->n, shape->k, blocks};
  product.a = operand_fragment('r', shape->m, blocks, stored, of_a);
  product.b = operand_fragment('c', shape->n, blocks, shape->k, of_b);
  product.c = product.d = sum_fragment(shape->m, *sum);
  product.a_type = shape->a, product.b_type = shape->b;
  product.c_type = product.d_type = *sum;
  if (sparse) {
    // Two bits for each of the lane's own elements; of several such sets in the word, abid names one.
    unsigned bits = of_a * 2, set = constant(call, 4) == 0 ? constant(call, 5) : 0;
    Value* word = builder.CreateLShr(call.getArgOperand(3), uint64_t{set} * bits % 32);
    unsigned lanes = llvm::Log2_32(kLanes / shape->m);
    product.sparse = {bits_from('r', 0, llvm::Log2_32(shape->m)) + bits_from('c', 0, lanes) + " |", bits, 0, word};
    return multiply(builder, call, product, a, b, c);
  }
  unsigned cbsz = constant(call, 3), abid = constant(call, 4), blgp = constant(call, 5);
  if (shape->a == Element::kDouble) {  // here blgp negates
    for (auto [bit, matrix] : {std::pair{1u, &a}, {2u, &b}, {4u, &c}}) {
      if (blgp & bit) negate(builder, *matrix);
    }
    return multiply(builder, call, product, a, b, c);
  }
  if (cbsz && blocks > 1) broadcast_block(builder, a, shape->m, cbsz, abid);
  if (blgp) choose_lanes(builder, b, blgp & 7);
  return multiply(builder, call, product, a, b, c);
}

// wmma(a, b, c), with a half of C's and D's registers where those are of 16 bits; of integers
// wmma(a is signed, a, b is signed, b, c, clamp).
Raised raise_wmma(Builder& builder, llvm::CallInst& call, StringRef name, uint32_t wave_size) {
  auto [result, rest] = name.split('.');
  rest.consume_back(".tied");
  auto sum = sum_of(result);
  auto shape = shape_of(rest);
  if (!sum || !shape || shape->m != 16 || shape->n != 16 || shape->k != 16) return std::nullopt;
  bool integers = *sum == Element::kInteger;
  Value *left = call.getArgOperand(integers ? 1 : 0), *right = call.getArgOperand(integers ? 3 : 1),
        *sums = call.getArgOperand(integers ? 4 : 2);
  // Later generations have each element once.
  if (elements_of(left, shape->a) != 16 || (wave_size != 32 && wave_size != 64)) return std::nullopt;
  MatrixProduct product{};
  if (integers) {
    bool bytes = shape->a == Element::kUnsigned8;
    if (constant(call, 0)) shape->a = bytes ? Element::kSigned8 : Element::kSigned4;
    if (constant(call, 2)) shape->b = bytes ? Element::kSigned8 : Element::kSigned4;
    product.saturates = constant(call, 5);
  }
  product.wave_size = wave_size;
  product.extent = {16, 16, 16, 1};
  product.a = "r0 r1 r2 r3 - - | k0 k1 k2 k3";
  product.b = "c0 c1 c2 c3 - - | k0 k1 k2 k3";
  product.c = product.d = wave_size == 32 ? "c0 c1 c2 c3 r0 | r1 r2 r3" : "c0 c1 c2 c3 r0 r1 | r2 r3";
  product.a_type = shape->a, product.b_type = shape->b;
  product.c_type = product.d_type = *sum;
  Registers a = registers_of(builder, left), b = registers_of(builder, right), c = registers_of(builder, sums);
  if (bits_of(*sum) == 32) return multiply(builder, call, product, a, b, c);
  // Every second of C's; the others stay.
  Registers halves;
  unsigned first = constant(call, 3);
  for (size_t i = first; i < c.size(); i += 2) halves.push_back(c[i]);
  auto results = multiply_matrices(builder, product, a, b, halves);
  for (size_t i = 0; i < results.size(); ++i) c[2 * i + first] = results[i];
  return value_of(builder, c, call.getType());
}

}  // namespace

Raised raise_matrix_intrinsic(Builder& builder, llvm::CallInst& call, uint32_t wave_size) {
  StringRef name = llvm::Intrinsic::getBaseName(call.getIntrinsicID());
  if (!name.consume_front("llvm.amdgcn.")) return std::nullopt;
  if (name.consume_front("mfma.")) return raise_mfma(builder, call, name, false);
  if (name.consume_front("smfmac.")) return raise_mfma(builder, call, name, true);
  return name.consume_front("wmma.") ? raise_wmma(builder, call, name, wave_size) : std::nullopt;
}

}  // namespace mneme::codegen::host
