// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/ptx/instruction.h"

#include <llvm/ADT/STLExtras.h>

#include <iterator>

#include "codegen/ptx/constants.h"

namespace mneme::codegen::ptx {

using llvm::Value;
using Builder = llvm::IRBuilderBase;

std::optional<PtxType> PtxType::parse(llvm::StringRef text) {
  if (text == "pred") return PtxType{kPredicate, 1, 1};
  unsigned lanes = text.consume_back("x2") ? 2 : 1;
  Kind kind = kBits;
  if (text.consume_front("bf")) {
    kind = kBrain;
  } else if (text.consume_front("b")) {
    kind = kBits;
  } else if (text.consume_front("u")) {
    kind = kUnsigned;
  } else if (text.consume_front("s")) {
    kind = kSigned;
  } else if (text.consume_front("f")) {
    kind = kFloat;
  } else {
    return std::nullopt;
  }
  unsigned bits = 0;
  if (text.getAsInteger(10, bits)) return std::nullopt;
  bool known = kind == kBrain   ? bits == 16
               : kind == kFloat ? bits == 16 || bits == 32 || bits == 64
               : kind == kBits  ? bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128
                                : bits == 8 || bits == 16 || bits == 32 || bits == 64;
  if (!known || (lanes == 2 && bits != 16)) return std::nullopt;
  return PtxType{kind, bits, lanes};
}

llvm::Type* PtxType::of(llvm::LLVMContext& context) const {
  llvm::Type* type = llvm::Type::getIntNTy(context, bits);
  if (kind == kFloat) {
    type = bits == 16   ? llvm::Type::getHalfTy(context)
           : bits == 32 ? llvm::Type::getFloatTy(context)
                        : llvm::Type::getDoubleTy(context);
  }
  return lanes == 1 ? type : llvm::FixedVectorType::get(type, lanes);
}

PtxName::PtxName(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 8> parts;
  text.split(parts, '.');
  operation_ = parts.front();
  parts_.append(std::next(parts.begin()), parts.end());
}

bool PtxName::take(llvm::StringRef part) {
  auto* found = llvm::find(parts_, part);
  if (found == parts_.end()) return false;
  parts_.erase(found);
  return true;
}

llvm::StringRef PtxName::take_one_of(std::initializer_list<llvm::StringRef> parts) {
  for (llvm::StringRef part : parts) {
    if (take(part)) return part;
  }
  return "";
}

std::optional<PtxType> PtxName::take_type() {
  for (llvm::StringRef part : parts_) {
    std::optional<PtxType> type = PtxType::parse(part);
    if (!type) continue;
    take(part);
    return type;
  }
  return std::nullopt;
}

llvm::StringRef PtxName::take_first() {
  if (parts_.empty()) return "";
  llvm::StringRef first = parts_.front();
  parts_.erase(parts_.begin());
  return first;
}

Value* as_type(Builder& builder, Value* value, const PtxType& type) {
  return as_type(builder, value, type.of(builder.getContext()), type.is_signed());
}

Value* by_elements(Builder& builder, const PtxType& type, llvm::ArrayRef<Value*> operands,
                   llvm::function_ref<Value*(llvm::ArrayRef<Value*>)> operation) {
  llvm::SmallVector<Value*, 4> values;
  for (Value* operand : operands) values.push_back(as_type(builder, operand, type));
  if (type.lanes == 1) return operation(values);
  Value* result = nullptr;
  for (unsigned i = 0; i < type.lanes; ++i) {
    llvm::SmallVector<Value*, 4> elements;
    for (Value* value : values) elements.push_back(builder.CreateExtractElement(value, i));
    Value* element = operation(elements);
    if (!result) result = llvm::PoisonValue::get(llvm::FixedVectorType::get(element->getType(), type.lanes));
    result = builder.CreateInsertElement(result, element, i);
  }
  return result;
}

Value* join_elements(Builder& builder, llvm::ArrayRef<Value*> elements, unsigned bits) {
  llvm::Type *whole = builder.getIntNTy(bits), *part = builder.getIntNTy(bits / static_cast<unsigned>(elements.size()));
  Value* result = llvm::ConstantInt::get(whole, 0);
  for (size_t i = 0; i < elements.size(); ++i) {
    Value* piece = as_type(builder, as_type(builder, elements[i], part), whole);
    result = builder.CreateOr(result, builder.CreateShl(piece, i * part->getIntegerBitWidth()));
  }
  return result;
}

Value* ptx_number(Builder& builder, llvm::StringRef text) {
  uint64_t bits = 0;
  if (text.starts_with("0f") || text.starts_with("0F")) {
    if (text.drop_front(2).getAsInteger(16, bits)) return nullptr;
    return builder.CreateBitCast(builder.getInt32(static_cast<uint32_t>(bits)), builder.getFloatTy());
  }
  if (text.starts_with("0d") || text.starts_with("0D")) {
    if (text.drop_front(2).getAsInteger(16, bits)) return nullptr;
    return builder.CreateBitCast(builder.getInt64(bits), builder.getDoubleTy());
  }
  double real = 0;
  if (text.contains('.') && !text.getAsDouble(real)) return llvm::ConstantFP::get(builder.getDoubleTy(), real);
  std::optional<uint64_t> value = ptx_integer(text);
  return value ? builder.getInt64(*value) : nullptr;
}

}  // namespace mneme::codegen::ptx
