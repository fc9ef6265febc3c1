// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// AMDGPU's intrinsics on integers and bits, in plain arithmetic. Where the manuals of the instruction set and a
// reader's guess could differ, the comments say what the manuals say.
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "codegen/host/dialect/amdgpu/intrinsics.h"

namespace mneme::codegen::host {
namespace {

using llvm::Value;
using Builder = llvm::IRBuilderBase;

// The bits [offset, offset + width) of a 32-bit value; a width of zero gives zero.
Value* bit_field(Builder& builder, llvm::CallInst& call, bool is_signed) {
  Value* offset = builder.CreateAnd(call.getArgOperand(1), 31);
  Value* width = builder.CreateAnd(call.getArgOperand(2), 31);
  Value* zero = llvm::ConstantInt::get(call.getType(), 0);
  Value* bits = llvm::ConstantInt::get(call.getType(), 32);
  Value* end = builder.CreateAdd(offset, width);
  Value* fits = builder.CreateICmpULT(end, bits);
  Value* left = builder.CreateSelect(fits, builder.CreateSub(bits, end), zero);
  Value* raised = builder.CreateShl(call.getArgOperand(0), left);
  Value* right = builder.CreateAnd(builder.CreateSelect(fits, builder.CreateSub(bits, width), offset), 31);
  Value* field = is_signed ? builder.CreateAShr(raised, right) : builder.CreateLShr(raised, right);
  return builder.CreateSelect(builder.CreateICmpEQ(width, zero), zero, field);
}

// The product of the low 24 bits of each, or what is above its low 32.
Value* product_24(Builder& builder, llvm::CallInst& call, bool is_signed, bool high) {
  auto low = [&](Value* x) {
    Value* up = builder.CreateShl(builder.CreateZExtOrTrunc(x, builder.getInt32Ty()), 8);
    Value* down = is_signed ? builder.CreateAShr(up, 8) : builder.CreateLShr(up, 8);
    return is_signed ? builder.CreateSExt(down, builder.getInt64Ty()) : builder.CreateZExt(down, builder.getInt64Ty());
  };
  Value* product = builder.CreateMul(low(call.getArgOperand(0)), low(call.getArgOperand(1)));
  if (high) product = builder.CreateLShr(product, 32);
  return builder.CreateZExtOrTrunc(product, call.getType());
}

// A packed value's parts, of `bits` each, as wider integers.
Value* part(Builder& builder, Value* packed, unsigned i, unsigned bits, bool is_signed, llvm::Type* type) {
  unsigned size = packed->getType()->getPrimitiveSizeInBits().getFixedValue();
  Value* whole = builder.CreateBitCast(packed, builder.getIntNTy(size));
  Value* piece = builder.CreateTrunc(builder.CreateLShr(whole, uint64_t{i} * bits), builder.getIntNTy(bits));
  return is_signed ? builder.CreateSExt(piece, type) : builder.CreateZExt(piece, type);
}

Value* distance(Builder& builder, Value* a, Value* b) {
  return builder.CreateSub(builder.CreateBinaryIntrinsic(llvm::Intrinsic::umax, a, b),
                           builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, a, b));
}

// The sum of differences of the parts of two 32-bit values. `masked`: those do not count where b's is zero.
Value* differences(Builder& builder, Value* a, Value* b, unsigned bits, bool masked) {
  llvm::Type* word = builder.getInt32Ty();
  Value* sum = builder.getInt32(0);
  for (unsigned i = 0; i < 32 / bits; ++i) {
    Value *x = part(builder, a, i, bits, false, word), *y = part(builder, b, i, bits, false, word);
    Value* difference = distance(builder, x, y);
    if (masked) difference = builder.CreateSelect(builder.CreateIsNull(y), builder.getInt32(0), difference);
    sum = builder.CreateAdd(sum, difference);
  }
  return sum;
}

// Four sums, of four neighbouring bytes of the first operand each, starting at each of its low four; each added to a
// part of the third operand.
Value* quad_differences(Builder& builder, llvm::CallInst& call, unsigned bits, bool masked) {
  llvm::Type* element = builder.getIntNTy(bits);
  llvm::Type* vector = llvm::FixedVectorType::get(element, 4);
  Value* sums = builder.CreateBitCast(call.getArgOperand(2), vector);
  for (unsigned i = 0; i < 4; ++i) {
    Value* window = builder.CreateTrunc(builder.CreateLShr(call.getArgOperand(0), 8 * i), builder.getInt32Ty());
    Value* sum = differences(builder, window, call.getArgOperand(1), 8, masked);
    Value* more = builder.CreateAdd(builder.CreateExtractElement(sums, i), builder.CreateZExtOrTrunc(sum, element));
    sums = builder.CreateInsertElement(sums, more, i);
  }
  return builder.CreateBitCast(sums, call.getType());
}

// Halves rounded up where the third operand's byte is odd.
Value* lerp(Builder& builder, llvm::CallInst& call) {
  llvm::Type* word = builder.getInt32Ty();
  Value* result = builder.getInt32(0);
  for (unsigned i = 0; i < 4; ++i) {
    Value* sum = builder.CreateAdd(part(builder, call.getArgOperand(0), i, 8, false, word),
                                   part(builder, call.getArgOperand(1), i, 8, false, word));
    Value* up = builder.CreateAnd(builder.CreateLShr(call.getArgOperand(2), 8 * i), 1);
    Value* half = builder.CreateLShr(builder.CreateAdd(sum, up), 1);
    result = builder.CreateOr(result, builder.CreateShl(half, 8 * i));
  }
  return result;
}

// Each byte of the selector names one of eight (the second operand's come first), the sign of one of the odd ones
// (8 to 11), zeros (12) or ones (above).
Value* permute_bytes(Builder& builder, llvm::CallInst& call) {
  llvm::Type* wide = builder.getInt64Ty();
  Value* high = builder.CreateShl(builder.CreateZExt(call.getArgOperand(0), wide), 32);
  Value* bytes = builder.CreateOr(high, builder.CreateZExt(call.getArgOperand(1), wide));
  Value* result = builder.getInt32(0);
  for (unsigned i = 0; i < 4; ++i) {
    Value* selector = builder.CreateAnd(builder.CreateLShr(call.getArgOperand(2), 8 * i), 255);
    Value* index = builder.CreateZExt(builder.CreateAnd(selector, 7), wide);
    Value* byte = builder.CreateAnd(builder.CreateLShr(bytes, builder.CreateShl(index, 3)), 255);
    Value* odd = builder.CreateAdd(builder.CreateShl(builder.CreateAnd(index, 3), 4), builder.getInt64(15));
    Value* sign = builder.CreateTrunc(builder.CreateLShr(bytes, odd), builder.getInt1Ty());
    Value* filled = builder.CreateSelect(sign, builder.getInt64(255), builder.getInt64(0));
    byte = builder.CreateSelect(builder.CreateICmpUGE(selector, builder.getInt32(8)), filled, byte);
    byte = builder.CreateSelect(builder.CreateICmpEQ(selector, builder.getInt32(12)), builder.getInt64(0), byte);
    byte = builder.CreateSelect(builder.CreateICmpUGE(selector, builder.getInt32(13)), builder.getInt64(255), byte);
    result = builder.CreateOr(result, builder.CreateShl(builder.CreateTrunc(byte, builder.getInt32Ty()), 8 * i));
  }
  return result;
}

struct Dot {
  Value *a, *b, *c, *clamp;
  unsigned bits;
  bool a_signed, b_signed;
};

// c plus the products of the parts. Clamped, the sum ends at what 32 bits hold instead of wrapping.
Value* dot(Builder& builder, const Dot& with) {
  llvm::Type* wide = builder.getInt64Ty();
  bool is_signed = with.a_signed || with.b_signed;
  Value* sum = is_signed ? builder.CreateSExt(with.c, wide) : builder.CreateZExt(with.c, wide);
  for (unsigned i = 0; i < 32 / with.bits; ++i) {
    sum = builder.CreateAdd(sum, builder.CreateMul(part(builder, with.a, i, with.bits, with.a_signed, wide),
                                                   part(builder, with.b, i, with.bits, with.b_signed, wide)));
  }
  Value* limited = sum;
  if (is_signed) {
    limited = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, limited, builder.getInt64(INT32_MAX));
    limited = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, limited, builder.getInt64(INT32_MIN));
  } else {
    limited = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, limited, builder.getInt64(UINT32_MAX));
  }
  return builder.CreateTrunc(builder.CreateSelect(with.clamp, limited, sum), builder.getInt32Ty());
}

Value* dot_of(Builder& builder, llvm::CallInst& call, unsigned bits, bool is_signed) {
  auto operand = [&](unsigned i) { return call.getArgOperand(i); };
  return dot(builder, {operand(0), operand(1), operand(2), operand(3), bits, is_signed, is_signed});
}

// Whether each factor is signed is an operand before it.
Value* mixed_dot(Builder& builder, llvm::CallInst& call, unsigned bits) {
  auto operand = [&](unsigned i) { return call.getArgOperand(i); };
  auto is_signed = [&](unsigned i) { return llvm::cast<llvm::ConstantInt>(operand(i))->isOne(); };
  return dot(builder, {operand(1), operand(3), operand(4), operand(5), bits, is_signed(0), is_signed(2)});
}

// Two 32-bit integers as 16-bit ones, which stop at the ends of their range.
Value* pack_16(Builder& builder, llvm::CallInst& call, bool is_signed) {
  auto limited = [&](Value* x) {
    if (!is_signed) return builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, x, builder.getInt32(UINT16_MAX));
    x = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, builder.getInt32(INT16_MAX));
    return builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, llvm::ConstantInt::getSigned(x->getType(), -32768));
  };
  Value* result = llvm::PoisonValue::get(call.getType());
  for (unsigned i = 0; i < 2; ++i) {
    Value* piece = builder.CreateTrunc(limited(call.getArgOperand(i)), builder.getInt16Ty());
    result = builder.CreateInsertElement(result, piece, i);
  }
  return result;
}

// How many bits from the top are like the sign; all ones when all are.
Value* find_sign_end(Builder& builder, Value* x) {
  unsigned bits = x->getType()->getIntegerBitWidth();
  Value* differing = builder.CreateXor(x, builder.CreateAShr(x, bits - 1));
  Value* count = builder.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, differing, builder.getFalse());
  return builder.CreateSelect(builder.CreateIsNull(differing), llvm::ConstantInt::getSigned(x->getType(), -1), count);
}

}  // namespace

Raised raise_integer_intrinsic(Builder& builder, llvm::CallInst& call) {
  auto operand = [&](unsigned i) { return call.getArgOperand(i); };
  auto is_word = [&] { return call.getType()->isIntegerTy(32); };
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::amdgcn_ubfe:
      return is_word() ? Raised(bit_field(builder, call, false)) : std::nullopt;
    case llvm::Intrinsic::amdgcn_sbfe:
      return is_word() ? Raised(bit_field(builder, call, true)) : std::nullopt;
    case llvm::Intrinsic::amdgcn_mul_u24:
      return product_24(builder, call, false, false);
    case llvm::Intrinsic::amdgcn_mul_i24:
      return product_24(builder, call, true, false);
    case llvm::Intrinsic::amdgcn_mulhi_u24:
      return product_24(builder, call, false, true);
    case llvm::Intrinsic::amdgcn_mulhi_i24:
      return product_24(builder, call, true, true);
    case llvm::Intrinsic::amdgcn_alignbyte:
      return builder.CreateIntrinsic(llvm::Intrinsic::fshr, {call.getType()},
                                     {operand(0), operand(1), builder.CreateShl(operand(2), 3)});
    case llvm::Intrinsic::amdgcn_perm:
      return permute_bytes(builder, call);
    case llvm::Intrinsic::amdgcn_sffbh:
      return find_sign_end(builder, operand(0));
    case llvm::Intrinsic::amdgcn_lerp:
      return lerp(builder, call);

    case llvm::Intrinsic::amdgcn_sad_u8:
      return builder.CreateAdd(operand(2), differences(builder, operand(0), operand(1), 8, false));
    case llvm::Intrinsic::amdgcn_sad_hi_u8:
      return builder.CreateAdd(operand(2),
                               builder.CreateShl(differences(builder, operand(0), operand(1), 8, false), 16));
    case llvm::Intrinsic::amdgcn_sad_u16:
      return builder.CreateAdd(operand(2), differences(builder, operand(0), operand(1), 16, false));
    case llvm::Intrinsic::amdgcn_msad_u8:
      return builder.CreateAdd(operand(2), differences(builder, operand(0), operand(1), 8, true));
    case llvm::Intrinsic::amdgcn_qsad_pk_u16_u8:
      return quad_differences(builder, call, 16, false);
    case llvm::Intrinsic::amdgcn_mqsad_pk_u16_u8:
      return quad_differences(builder, call, 16, true);
    case llvm::Intrinsic::amdgcn_mqsad_u32_u8:
      return quad_differences(builder, call, 32, true);

    case llvm::Intrinsic::amdgcn_sdot2:
      return dot_of(builder, call, 16, true);
    case llvm::Intrinsic::amdgcn_udot2:
      return dot_of(builder, call, 16, false);
    case llvm::Intrinsic::amdgcn_sdot4:
      return dot_of(builder, call, 8, true);
    case llvm::Intrinsic::amdgcn_udot4:
      return dot_of(builder, call, 8, false);
    case llvm::Intrinsic::amdgcn_sdot8:
      return dot_of(builder, call, 4, true);
    case llvm::Intrinsic::amdgcn_udot8:
      return dot_of(builder, call, 4, false);
    case llvm::Intrinsic::amdgcn_sudot4:
      return mixed_dot(builder, call, 8);
    case llvm::Intrinsic::amdgcn_sudot8:
      return mixed_dot(builder, call, 4);
    case llvm::Intrinsic::amdgcn_cvt_pk_i16:
      return pack_16(builder, call, true);
    case llvm::Intrinsic::amdgcn_cvt_pk_u16:
      return pack_16(builder, call, false);
    default:
      return std::nullopt;
  }
}

}  // namespace mneme::codegen::host
