// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX counts bytes, and jumps over what is not to run. Analyses of elements and of bounds want what clang writes:
//
//   %1 = shl nuw nsw i32 %t, 2                       %1 = zext nneg i32 %t to i64
//   %2 = zext nneg i32 %1 to i64                ->   %2 = getelementptr i32, ptr %p, i64 %1
//   %3 = getelementptr i8, ptr %p, i64 %2
//   %4 = icmp ugt i32 %t, 15                    ->   %4 = icmp ult i32 %t, 16
//   br i1 %4, label %behind, label %then             br i1 %4, label %then, label %behind
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/PatternMatch.h>

#include "codegen/ptx/module.h"

namespace mneme::codegen::ptx {
namespace {

using llvm::Value;
using namespace llvm::PatternMatch;

constexpr uint64_t kMostShift = 4;  // of the largest accesses, 16 bytes

// Of an i64 that is a number shifted, which is then `number`, extended. An i32 that was shifted must not have wrapped.
struct Shifted {
  Value* number = nullptr;
  uint64_t by = 0;
  llvm::Instruction::CastOps extension = llvm::Instruction::CastOpsEnd;
};

Shifted shifted(Value* index) {
  Shifted found;
  Value* narrow = nullptr;
  bool zero = match(index, m_ZExt(m_Value(narrow))), sign = match(index, m_SExt(m_Value(narrow)));
  Value* from = narrow ? narrow : index;
  if (!match(from, m_Shl(m_Value(found.number), m_ConstantInt(found.by))) || found.by > kMostShift) return {};
  auto* shift = llvm::dyn_cast<llvm::OverflowingBinaryOperator>(from);
  if (!shift || (zero && !shift->hasNoUnsignedWrap()) || (sign && !shift->hasNoSignedWrap())) return {};
  if (narrow) found.extension = zero ? llvm::Instruction::ZExt : llvm::Instruction::SExt;
  return found;
}

void index_elements(llvm::GetElementPtrInst& address) {
  if (!address.getSourceElementType()->isIntegerTy(8) || address.getNumIndices() != 1) return;
  Value* index = address.getOperand(1);
  Shifted found = index->getType()->isIntegerTy(64) ? shifted(index) : Shifted();
  if (!found.number) return;
  llvm::IRBuilder<> builder(&address);
  Value* number = found.number;
  if (found.extension != llvm::Instruction::CastOpsEnd) {
    number = builder.CreateCast(found.extension, number, index->getType());
  }
  llvm::Type* element = builder.getIntNTy(8u << found.by);
  Value* made = builder.CreateGEP(element, address.getPointerOperand(), number);
  address.replaceAllUsesWith(made);
  address.eraseFromParent();
}

// Of s[t] in shared memory, o elements further, where the function asks for t < o: s[t + o] has an index of its own,
// which the bound is compared with. Others stay: from one address they are at distances that are known.
void add_to_index(llvm::GetElementPtrInst& address, const llvm::SmallDenseSet<uint64_t>& bounds) {
  auto* element = llvm::dyn_cast<llvm::GetElementPtrInst>(address.getPointerOperand());
  uint64_t bytes = 0;
  if (!element || element->getNumIndices() != 1 || !address.getSourceElementType()->isIntegerTy(8) ||
      address.getAddressSpace() != kShared || address.getNumIndices() != 1 ||
      !match(address.getOperand(1), m_ConstantInt(bytes))) {
    return;
  }
  auto* type = llvm::dyn_cast<llvm::IntegerType>(element->getSourceElementType());
  uint64_t size = type ? type->getBitWidth() / 8 : 0;
  if (size < 2 || bytes % size || !bounds.contains(bytes / size)) return;
  llvm::IRBuilder<> builder(&address);
  Value* index = element->getOperand(1);
  index = builder.CreateAdd(index, llvm::ConstantInt::get(index->getType(), bytes / size));
  Value* made = builder.CreateGEP(type, element->getPointerOperand(), index);
  address.replaceAllUsesWith(made);
  address.eraseFromParent();
}

// Of a comparison that only jumps depend on.
void compare_below(llvm::ICmpInst& comparison) {
  auto* most = llvm::dyn_cast<llvm::ConstantInt>(comparison.getOperand(1));
  bool is_signed = comparison.getPredicate() == llvm::ICmpInst::ICMP_SGT;
  if (!most || (!is_signed && comparison.getPredicate() != llvm::ICmpInst::ICMP_UGT)) return;
  if (is_signed ? most->isMaxValue(true) : most->isMaxValue(false)) return;
  auto is_jump = [](const llvm::User* user) { return llvm::isa<llvm::BranchInst>(user); };
  if (!llvm::all_of(comparison.users(), is_jump)) return;
  for (llvm::User* user : comparison.users()) llvm::cast<llvm::BranchInst>(user)->swapSuccessors();
  comparison.setPredicate(is_signed ? llvm::ICmpInst::ICMP_SLT : llvm::ICmpInst::ICMP_ULT);
  comparison.setOperand(1, llvm::ConstantInt::get(most->getType(), most->getValue() + 1));
}

}  // namespace

void write_as_clang(llvm::Module& module) {
  for (llvm::Function& function : module) {
    llvm::SmallDenseSet<uint64_t> bounds;  // of unsigned numbers
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      if (auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
        index_elements(*address);
      } else if (auto* comparison = llvm::dyn_cast<llvm::ICmpInst>(&instruction)) {
        compare_below(*comparison);
        auto* bound = llvm::dyn_cast<llvm::ConstantInt>(comparison->getOperand(1));
        bool below = bound && comparison->getPredicate() == llvm::ICmpInst::ICMP_ULT;
        if (below && bound->getValue().isIntN(31)) bounds.insert(bound->getZExtValue());
      }
    }
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      if (auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) add_to_index(*address, bounds);
    }
  }
}

}  // namespace mneme::codegen::ptx
