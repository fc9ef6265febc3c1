// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/analysis/strides.h"

#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>
#include <llvm/IR/PatternMatch.h>

namespace mneme::codegen::host {

Strides::Strides(llvm::Function& item, const Uniformity& uniformity)
    : layout_(item.getDataLayout()), x_(item.getArg(1)), uniformity_(uniformity) {}

std::optional<int64_t> Strides::of(llvm::Value* value) {
  if (value == x_) return 1;
  // Rows and planes are other loops.
  if (llvm::isa<llvm::Constant, llvm::Argument>(value) || uniformity_.is_uniform(*value)) return 0;
  auto [found, fresh] = known_.try_emplace(value);
  if (fresh) {
    std::optional<int64_t> stride = compute(value);
    found->second = stride;
  }
  return found->second;
}

std::optional<int64_t> Strides::compute(llvm::Value* value) {
  using namespace llvm::PatternMatch;
  llvm::Value *left = nullptr, *right = nullptr;
  uint64_t amount = 0;
  if (match(value, m_ZExtOrSExt(m_Value(left))) || match(value, m_Trunc(m_Value(left))) ||
      match(value, m_Freeze(m_Value(left)))) {
    return of(left);
  }
  if (match(value, m_AddLike(m_Value(left), m_Value(right))) || match(value, m_Sub(m_Value(left), m_Value(right)))) {
    std::optional<int64_t> a = of(left), b = of(right);
    if (!a || !b) return std::nullopt;
    return match(value, m_Sub(m_Value(), m_Value())) ? *a - *b : *a + *b;
  }
  if (match(value, m_Shl(m_Value(left), m_ConstantInt(amount)))) {
    std::optional<int64_t> a = of(left);
    return a && amount < 32 ? std::optional(*a << amount) : std::nullopt;
  }
  if (match(value, m_Mul(m_Value(left), m_Value(right)))) {
    std::optional<int64_t> a = of(left), b = of(right);
    if (a == 0 && b == 0) return 0;
    auto* factor = llvm::dyn_cast<llvm::ConstantInt>(right);
    return a && factor && factor->getBitWidth() <= 64 ? std::optional(*a * factor->getSExtValue()) : std::nullopt;
  }
  if (auto* phi = llvm::dyn_cast<llvm::PHINode>(value)) {
    // As its first value, if what is added on each way round is the same for all.
    std::optional<int64_t> first = of(phi->getIncomingValue(0));
    known_[phi] = first;
    for (llvm::Value* incoming : phi->incoming_values()) {
      if (of(incoming) != first) return std::nullopt;
    }
    return first;
  }
  if (llvm::isa<llvm::GEPOperator>(value)) return of_address(value);
  return std::nullopt;
}

std::optional<int64_t> Strides::of_address(llvm::Value* value) {
  auto* address = llvm::cast<llvm::GEPOperator>(value);
  llvm::MapVector<llvm::Value*, llvm::APInt> terms;
  unsigned width = layout_.getIndexTypeSizeInBits(address->getType());
  llvm::APInt constant(width, 0);
  std::optional<int64_t> sum = of(address->getPointerOperand());
  if (!sum || !address->collectOffset(layout_, width, terms, constant)) return std::nullopt;
  for (auto& [index, scale] : terms) {
    std::optional<int64_t> stride = of(index);
    if (!stride) return std::nullopt;
    *sum += *stride * scale.getSExtValue();
  }
  return sum;
}

}  // namespace mneme::codegen::host
