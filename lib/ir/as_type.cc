// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/as_type.h"

namespace mneme::ir {

using llvm::Value;
using Builder = llvm::IRBuilderBase;

Value* as_type(Builder& builder, Value* value, llvm::Type* type, bool is_signed) {
  if (value->getType() == type) return value;
  // A number written with a point is of whatever type it is for.
  auto* number = llvm::dyn_cast<llvm::ConstantFP>(value);
  if (number && number->getType()->isDoubleTy() && (type->isFloatTy() || type->isHalfTy())) {
    return builder.CreateFPTrunc(number, type);
  }
  if (type->isPointerTy()) {
    if (value->getType()->isPointerTy()) return builder.CreateAddrSpaceCast(value, type);
    return builder.CreateIntToPtr(as_type(builder, value, builder.getInt64Ty(), is_signed), type);
  }
  if (value->getType()->isPointerTy()) value = builder.CreatePtrToInt(value, builder.getInt64Ty());
  unsigned from = value->getType()->getPrimitiveSizeInBits(), to = type->getPrimitiveSizeInBits();
  if (!value->getType()->isIntegerTy()) value = builder.CreateBitCast(value, builder.getIntNTy(from));
  llvm::Type* whole = builder.getIntNTy(to);
  return builder.CreateBitCast(builder.CreateIntCast(value, whole, is_signed), type);
}

}  // namespace mneme::ir
