// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/vectorize/iteration_range.h"

#include <llvm/IR/PatternMatch.h>

namespace mneme::codegen::host {

using namespace llvm::PatternMatch;

namespace {

bool is_used_outside(const llvm::Loop& loop) {
  for (llvm::BasicBlock* block : loop.blocks()) {
    for (llvm::Instruction& instruction : *block) {
      for (llvm::User* user : instruction.users()) {
        if (!loop.contains(llvm::cast<llvm::Instruction>(user))) return true;
      }
    }
  }
  return false;
}

}  // namespace

std::optional<CountedLoop> match_counted_loop(llvm::Loop& loop) {
  llvm::BasicBlock* header = loop.getHeader();
  llvm::BasicBlock* latch = loop.getLoopLatch();
  if (!latch || latch == header || !loop.getLoopPreheader() || loop.getExitingBlock() != latch) return std::nullopt;
  if (!loop.getExitBlock() || !llvm::hasSingleElement(header->phis()) || is_used_outside(loop)) return std::nullopt;
  llvm::PHINode* index = &*header->phis().begin();
  if (!index->getType()->isIntegerTy() || index->getType()->getIntegerBitWidth() > 64) return std::nullopt;
  llvm::Value* next = index->getIncomingValueForBlock(latch);
  if (!match(next, m_Add(m_Specific(index), m_One()))) return std::nullopt;

  auto* end = llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator());
  if (!end) return std::nullopt;
  auto* counted = llvm::dyn_cast<llvm::ICmpInst>(end->getCondition());
  if (!counted || !counted->hasOneUse()) return std::nullopt;
  // Equal is when it ends, not when it goes on.
  unsigned when_equal = counted->getPredicate() == llvm::ICmpInst::ICMP_EQ ? 0 : 1;
  if (!counted->isEquality() || end->getSuccessor(when_equal) == header) return std::nullopt;
  if (counted->getOperand(0) != next || !loop.isLoopInvariant(counted->getOperand(1))) return std::nullopt;
  return CountedLoop{index, counted, counted->getOperand(1)};
}

IterationRange::IterationRange(llvm::Loop& loop, const CountedLoop& counted)
    : builder(loop.getLoopPreheader()->getTerminator()), loop_(loop), counted_(counted) {}

llvm::Value* IterationRange::last() {
  llvm::Value* count = counted_.count;
  llvm::Value* before = builder.CreateSub(count, llvm::ConstantInt::get(count->getType(), 1));
  return builder.CreateZExt(before, builder.getInt64Ty());
}

bool IterationRange::narrow(llvm::Value* condition, bool wanted) {
  auto* compare = llvm::dyn_cast<llvm::ICmpInst>(condition);
  if (!compare) return false;
  llvm::ICmpInst::Predicate predicate = wanted ? compare->getPredicate() : compare->getInversePredicate();
  llvm::Value* left = compare->getOperand(0);
  llvm::Value* bound = compare->getOperand(1);
  if (loop_.isLoopInvariant(left)) {
    std::swap(left, bound);
    predicate = llvm::ICmpInst::getSwappedPredicate(predicate);
  }
  if (predicate == llvm::ICmpInst::ICMP_NE || !loop_.isLoopInvariant(bound)) return false;
  if (!left->getType()->isIntegerTy() || left->getType()->getIntegerBitWidth() > 64) return false;
  bool is_signed = llvm::ICmpInst::isSigned(predicate);
  llvm::Value* base = base_of(left, is_signed);
  if (!base && predicate == llvm::ICmpInst::ICMP_EQ) base = base_of(left, is_signed = true);
  if (!base) return false;
  bound = widen(bound, is_signed);

  bool or_equal = llvm::ICmpInst::isNonStrictPredicate(predicate);
  if (predicate == llvm::ICmpInst::ICMP_EQ) {
    begin_at(distance(base, bound, is_signed, false));
    end_at(distance(base, bound, is_signed, true));
  } else if (llvm::ICmpInst::isLT(predicate) || llvm::ICmpInst::isLE(predicate)) {
    end_at(distance(base, bound, is_signed, or_equal));
  } else {
    begin_at(distance(base, bound, is_signed, !or_equal));
  }
  return true;
}

// base + index against bound, without a wrap, is the index against bound - base: that (and one more), or 0 if the bound
// lies below the base.
llvm::Value* IterationRange::distance(llvm::Value* base, llvm::Value* bound, bool is_signed, bool and_one) {
  auto predicate = and_one ? (is_signed ? llvm::ICmpInst::ICMP_SLE : llvm::ICmpInst::ICMP_ULE)
                           : (is_signed ? llvm::ICmpInst::ICMP_SLT : llvm::ICmpInst::ICMP_ULT);
  llvm::Value* reaches = builder.CreateICmp(predicate, base, bound);
  llvm::Value* difference = builder.CreateSub(bound, base);
  if (and_one) difference = builder.CreateBinaryIntrinsic(llvm::Intrinsic::uadd_sat, difference, builder.getInt64(1));
  return builder.CreateSelect(reaches, difference, builder.getInt64(0));
}

void IterationRange::begin_at(llvm::Value* value) {
  first = first ? builder.CreateBinaryIntrinsic(llvm::Intrinsic::umax, first, value) : value;
}

void IterationRange::end_at(llvm::Value* value) {
  end = end ? builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, end, value) : value;
}

// Whether the index may pass the largest signed number. No loop runs 2^63 times.
bool IterationRange::may_turn_negative() const {
  if (counted_.index->getType()->getIntegerBitWidth() >= 64) return false;
  auto* next = llvm::dyn_cast<llvm::OverflowingBinaryOperator>(counted_.counted->getOperand(0));
  return !next || !next->hasNoSignedWrap();
}

// With `value` = base + index, read as signed or unsigned numbers and without a wrap, the base; null if it is not such
// a sum.
llvm::Value* IterationRange::base_of(llvm::Value* value, bool is_signed) {
  if (value == counted_.index) return is_signed && may_turn_negative() ? nullptr : builder.getInt64(0);
  llvm::Value *base = nullptr, *inner = nullptr;
  if (match(value, m_SExt(m_Value(inner)))) return is_signed ? base_of(inner, true) : nullptr;
  if (match(value, m_ZExt(m_Value(inner)))) return base_of(inner, false);
  if (is_signed ? !match(value, m_NSWAddLike(m_Value(base), m_Value(inner)))
                : !match(value, m_NUWAddLike(m_Value(base), m_Value(inner))))
    return nullptr;
  if (!loop_.isLoopInvariant(base)) std::swap(base, inner);
  if (!loop_.isLoopInvariant(base)) return nullptr;
  // Of three numbers of 64 bits the sum of two may wrap.
  if (value->getType()->getIntegerBitWidth() == 64 && !is_extended_index(inner)) return nullptr;
  llvm::Value* more = base_of(inner, is_signed);
  return more ? builder.CreateAdd(widen(base, is_signed), more) : nullptr;
}

bool IterationRange::is_extended_index(llvm::Value* value) {
  return value == counted_.index || match(value, m_ZExtOrSExt(m_Specific(counted_.index)));
}

// Frozen: it may be poison where the condition was never come to.
llvm::Value* IterationRange::widen(llvm::Value* value, bool is_signed) {
  if (!llvm::isa<llvm::Constant>(value)) value = builder.CreateFreeze(value);
  return is_signed ? builder.CreateSExt(value, builder.getInt64Ty()) : builder.CreateZExt(value, builder.getInt64Ty());
}

}  // namespace mneme::codegen::host
