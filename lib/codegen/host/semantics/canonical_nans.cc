// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/semantics/canonical_nans.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/CodeGen/AtomicExpandUtils.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

#include <vector>

#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

// On instructions within a function of mathematics: the bits of a NaN there make no difference to what it returns.
constexpr char kWithin[] = "mneme.within.math";

bool is_number(const llvm::Value& value) { return value.getType()->isFPOrFPVectorTy(); }

// Operations that make a NaN, of operands that are none or of one that is.
bool makes_nans(const llvm::Instruction& instruction) {
  if (!is_number(instruction) || instruction.hasMetadata(kWithin)) return false;
  if (auto* operation = llvm::dyn_cast<llvm::FPMathOperator>(&instruction)) {
    if (operation->hasNoNaNs()) return false;
  }
  if (llvm::isa<llvm::BinaryOperator, llvm::FPExtInst, llvm::FPTruncInst>(instruction)) return true;
  auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  if (!call || !call->getCalledFunction()) return false;
  const llvm::Function& callee = *call->getCalledFunction();
  if (!callee.isIntrinsic()) return callee.isDeclaration() && !operation_of(callee);  // of the C library
  const llvm::Intrinsic::ID id = callee.getIntrinsicID();
  if (id == llvm::Intrinsic::arithmetic_fence) return true;  // a function's result
  return llvm::isTriviallyVectorizable(id) && id != llvm::Intrinsic::fabs && id != llvm::Intrinsic::copysign;
}

bool is_intrinsic(const llvm::Instruction& instruction, llvm::Intrinsic::ID id) {
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call && call->getIntrinsicID() == id;
}

// Whether the result has the bits of operands, but for the sign.
bool copies(const llvm::Instruction& instruction) {
  return is_number(instruction) &&
         (llvm::isa<llvm::PHINode, llvm::SelectInst, llvm::FreezeInst, llvm::InsertElementInst,
                    llvm::ExtractElementInst, llvm::ShuffleVectorInst>(instruction) ||
          instruction.getOpcode() == llvm::Instruction::FNeg || is_intrinsic(instruction, llvm::Intrinsic::fabs) ||
          is_intrinsic(instruction, llvm::Intrinsic::copysign));
}

bool is_shared(const llvm::Value* pointer) {
  auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(llvm::getUnderlyingObject(pointer));
  if (!variable) return false;
  MemoryClass memory = memory_class(*variable);
  return memory == MemoryClass::kShared || memory == MemoryClass::kSharedDynamic;
}

constexpr uint64_t kMagnitude = 0x7fff;  // of a number of 16 bits

llvm::Constant* infinity_of(llvm::Type* type) {
  const llvm::APFloat infinity = llvm::APFloat::getInf(type->getScalarType()->getFltSemantics());
  llvm::Type* bits = llvm::Type::getIntNTy(type->getContext(), type->getScalarSizeInBits());
  return llvm::ConstantInt::get(type->getWithNewType(bits), infinity.bitcastToAPInt());
}

// The one that the processor makes, so that it is the same, too, where nothing is added.
llvm::Constant* nan_of(llvm::Type* type) { return llvm::ConstantFP::getQNaN(type, true); }

// The number that an instruction makes canonical, if that is what it does: see canonical().
llvm::Value* made_canonical(const llvm::Value& value) {
  using namespace llvm::PatternMatch;
  llvm::Value *left, *right, *yes, *no;
  llvm::CmpInst::Predicate predicate;
  if (!match(&value, m_Select(m_Cmp(predicate, m_Value(left), m_Value(right)), m_Value(yes), m_Value(no)))) {
    return nullptr;
  }
  if (predicate == llvm::CmpInst::FCMP_ORD || predicate == llvm::CmpInst::ICMP_ULE) std::swap(yes, no);
  if (!is_number(*no) || yes != nan_of(no->getType())) return nullptr;
  switch (predicate) {
    case llvm::CmpInst::FCMP_UNO:
    case llvm::CmpInst::FCMP_ORD:
      return left == no && (right == no || match(right, m_NonNaN())) ? no : nullptr;
    case llvm::CmpInst::ICMP_UGT:
    case llvm::CmpInst::ICMP_ULE:
      return match(left, m_And(m_BitCast(m_Specific(no)), m_SpecificInt(kMagnitude))) &&
                     right == infinity_of(no->getType())
                 ? no
                 : nullptr;
    default:
      return nullptr;
  }
}

// Whether a number's bits are taken to see if it is a NaN, and for nothing else.
bool looks_for_nan(const llvm::Instruction& bits) {
  using namespace llvm::PatternMatch;
  if (!llvm::isa<llvm::BitCastInst>(bits) || !bits.hasOneUser()) return false;
  const llvm::User* magnitude = bits.user_back();
  return match(magnitude, m_And(m_Value(), m_SpecificInt(kMagnitude))) &&
         llvm::all_of(magnitude->users(), [](auto* compared) {
           return llvm::all_of(compared->users(),
                               [](const llvm::User* chosen) { return made_canonical(*chosen) != nullptr; });
         });
}

// Whether it takes the number for what it is, whatever the bits if it is a NaN.
bool computes(const llvm::Instruction& instruction) {
  if (instruction.hasMetadata(kWithin) || looks_for_nan(instruction)) return true;
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) return is_shared(store->getPointerOperand());
  if (llvm::isa<llvm::FCmpInst, llvm::FPToSIInst, llvm::FPToUIInst>(instruction)) return true;
  if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction)) {
    if (!llvm::isTriviallyVectorizable(call->getIntrinsicID())) return false;
    return !is_intrinsic(*call, llvm::Intrinsic::fabs) && !is_intrinsic(*call, llvm::Intrinsic::copysign);
  }
  return makes_nans(instruction) || llvm::isa<llvm::BinaryOperator>(instruction);
}

// The numbers of a function whose bits are seen, be it by way of copies.
class Seen {
 public:
  explicit Seen(llvm::Function& function) {
    std::vector<llvm::Instruction*> found;
    auto see = [&](llvm::Instruction& user) {
      for (llvm::Value* operand : user.operands()) {
        auto* number = llvm::dyn_cast<llvm::Instruction>(operand);
        if (number && is_number(*number) && seen_.insert(number).second) found.push_back(number);
      }
    };
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (is_intrinsic(instruction, llvm::Intrinsic::copysign)) {
        auto* sign = llvm::dyn_cast<llvm::Instruction>(instruction.getOperand(1));
        if (sign && seen_.insert(sign).second) found.push_back(sign);
      }
      if (!computes(instruction) && !copies(instruction)) see(instruction);
    }
    while (!found.empty()) {
      llvm::Instruction* number = found.back();
      found.pop_back();
      if (copies(*number)) see(*number);
    }
  }

  bool contains(const llvm::Instruction& number) const { return seen_.contains(&number); }
  bool by(const llvm::Use& use) const {
    auto& user = *llvm::cast<llvm::Instruction>(use.getUser());
    if (is_intrinsic(user, llvm::Intrinsic::copysign) && use.getOperandNo() == 1) return true;
    return copies(user) ? contains(user) : !computes(user);
  }

 private:
  llvm::SmallPtrSet<const llvm::Instruction*, 32> seen_;
};

// Of any number that is one, itself; else the NaN. The processor compares no numbers of 16 bits.
llvm::Value* canonical(llvm::IRBuilderBase& builder, llvm::Value* number) {
  llvm::Type* type = number->getType();
  llvm::Value* is_nan;
  if (type->getScalarSizeInBits() == 16) {
    llvm::Value* bits = builder.CreateBitCast(number, type->getWithNewType(builder.getInt16Ty()));
    is_nan = builder.CreateICmpUGT(builder.CreateAnd(bits, kMagnitude), infinity_of(type));
  } else {
    is_nan = builder.CreateFCmpUNO(number, number);
  }
  return builder.CreateSelect(is_nan, nan_of(type), number);
}

llvm::Instruction* place_behind(llvm::Instruction& instruction) { return &**instruction.getInsertionPointAfterDef(); }

void canonicalize(llvm::Instruction& number, const Seen& seen) {
  llvm::SmallVector<llvm::Use*, 8> uses;
  for (llvm::Use& use : number.uses()) {
    if (seen.by(use) && !made_canonical(*use.getUser())) uses.push_back(&use);
  }
  if (uses.empty()) return;
  llvm::IRBuilder<> builder(place_behind(number));
  builder.SetCurrentDebugLocation(number.getDebugLoc());
  llvm::Value* value = canonical(builder, &number);
  for (llvm::Use* use : uses) use->set(value);
}

// Where a use takes place.
llvm::Instruction* place_of(const llvm::Use& use) {
  auto* user = llvm::cast<llvm::Instruction>(use.getUser());
  auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
  return phi ? phi->getIncomingBlock(use)->getTerminator() : user;
}

// Moves what makes numbers canonical to where they are seen: out of loops, and behind phis.
class Sinking {
 public:
  Sinking(llvm::Function& function, const llvm::LoopInfo& loops) : seen_(function), loops_(loops) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (made_canonical(instruction)) checks_.push_back(&instruction);
    }
  }

  bool run() {
    if (checks_.empty()) return false;
    for (llvm::Instruction* check : checks_) {       // what computes with a number takes it as it is
      llvm::Value* number = made_canonical(*check);  // null if that was what another makes canonical, and is plain now
      if (number) check->replaceUsesWithIf(number, [&](llvm::Use& use) { return !seen_.by(use); });
    }
    pass_phis();
    for (size_t i = 0; i < checks_.size(); ++i) leave_loop(*checks_[i]);  // and those that it makes
    llvm::SmallVector<llvm::WeakTrackingVH, 16> unused(checks_.begin(), checks_.end());
    llvm::RecursivelyDeleteTriviallyDeadInstructionsPermissive(unused);
    return true;
  }

 private:
  unsigned depth_of(const llvm::Instruction& instruction) const { return loops_.getLoopDepth(instruction.getParent()); }

  void check_at(llvm::Use& use, llvm::Instruction& number) {
    llvm::Instruction* place = place_of(use);
    if (depth_of(*place) > depth_of(number)) place = place_behind(number);
    llvm::IRBuilder<> builder(place);
    auto* made = llvm::cast<llvm::Instruction>(canonical(builder, &number));
    checks_.push_back(made);
    use.set(made);
  }

  // Phis of nothing but canonical numbers, be it by way of each other.
  llvm::SmallSetVector<llvm::PHINode*, 16> canonical_phis() {
    llvm::SmallSetVector<llvm::PHINode*, 16> phis;
    for (size_t i = 0; i < checks_.size() + phis.size(); ++i) {
      llvm::Instruction* number = i < checks_.size() ? checks_[i] : phis[i - checks_.size()];
      for (llvm::User* user : number->users()) {
        if (auto* phi = llvm::dyn_cast<llvm::PHINode>(user)) phis.insert(phi);
      }
    }
    std::vector<llvm::PHINode*> open(phis.begin(), phis.end());
    while (!open.empty()) {
      llvm::PHINode* phi = open.back();
      open.pop_back();
      auto is_canonical = [&](llvm::Value* value) {
        if (auto* incoming = llvm::dyn_cast<llvm::PHINode>(value)) return phis.contains(incoming);
        return made_canonical(*value) || llvm::PatternMatch::match(value, llvm::PatternMatch::m_NonNaN());
      };
      if (!phis.contains(phi) || llvm::all_of(phi->incoming_values(), is_canonical)) continue;
      phis.remove(phi);
      for (llvm::User* user : phi->users()) {
        if (auto* other = llvm::dyn_cast<llvm::PHINode>(user)) open.push_back(other);
      }
    }
    return phis;
  }

  // They are of the plain numbers, and canonical where they are seen.
  void pass_phis() {
    const auto phis = canonical_phis();
    for (llvm::PHINode* phi : phis) {
      llvm::SmallVector<llvm::Use*, 8> uses;
      for (llvm::Use& use : phi->uses()) {
        auto* other = llvm::dyn_cast<llvm::PHINode>(use.getUser());
        if (seen_.by(use) && !(other && phis.contains(other))) uses.push_back(&use);
      }
      for (llvm::Use* use : uses) check_at(*use, *phi);
    }
    for (llvm::PHINode* phi : phis) {
      for (llvm::Use& operand : phi->incoming_values()) {
        if (llvm::Value* number = made_canonical(*operand)) operand.set(number);
      }
    }
  }

  // Of a number that a loop computes and nothing sees within.
  void leave_loop(llvm::Instruction& check) {
    const llvm::Loop* loop = loops_.getLoopFor(check.getParent());
    auto* number = llvm::dyn_cast_or_null<llvm::Instruction>(made_canonical(check));
    auto is_behind = [&](const llvm::Use& use) { return !loop->contains(place_of(use)); };
    if (!loop || !number || !llvm::all_of(check.uses(), is_behind)) return;
    while (!check.use_empty()) check_at(*check.use_begin(), *number);
  }

  Seen seen_;
  const llvm::LoopInfo& loops_;
  std::vector<llvm::Instruction*> checks_;
};

llvm::Type* integer_as(llvm::Type* type) {
  return llvm::IntegerType::get(type->getContext(), type->getPrimitiveSizeInBits().getFixedValue());
}

void exchange_if_equal(llvm::IRBuilderBase& builder, llvm::Value* address, llvm::Value* expected, llvm::Value* wanted,
                       llvm::Align alignment, llvm::AtomicOrdering order, llvm::SyncScope::ID scope,
                       llvm::Value*& succeeded, llvm::Value*& loaded) {
  llvm::Type *type = expected->getType(), *bits = integer_as(type);
  llvm::Value* both =
      builder.CreateAtomicCmpXchg(address, builder.CreateBitCast(expected, bits), builder.CreateBitCast(wanted, bits),
                                  alignment, order, llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(order), scope);
  succeeded = builder.CreateExtractValue(both, 1);
  loaded = builder.CreateBitCast(builder.CreateExtractValue(both, 0), type);
}

void canonicalize_nans(llvm::Function& function) {
  Seen seen(function);
  std::vector<llvm::Instruction*> makers;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (makes_nans(instruction) && seen.contains(instruction)) makers.push_back(&instruction);
  }
  for (llvm::Instruction* number : makers) canonicalize(*number, seen);
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    if (!is_intrinsic(instruction, llvm::Intrinsic::arithmetic_fence)) continue;
    instruction.replaceAllUsesWith(instruction.getOperand(0));
    instruction.eraseFromParent();
  }
}

}  // namespace

void canonicalize_nans(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) canonicalize_nans(function);
  }
}

void canonicalize_results(llvm::Function& function) {
  llvm::MDNode* within = llvm::MDNode::get(function.getContext(), {});
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (!instruction.isTerminator() && !copies(instruction)) instruction.setMetadata(kWithin, within);
  }
  if (!function.getReturnType()->isFPOrFPVectorTy()) return;
  for (llvm::BasicBlock& block : function) {
    auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
    if (!end) continue;
    llvm::Value* result = end->getReturnValue();
    end->setOperand(0, llvm::IRBuilder<>(end).CreateArithmeticFence(result, result->getType()));
  }
}

void canonicalize_atomics(llvm::Module& module) {
  std::vector<llvm::AtomicRMWInst*> updates;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction);
      if (update && update->isFloatingPointOperation()) updates.push_back(update);
    }
  }
  llvm::SmallSetVector<llvm::Function*, 4> functions;
  for (llvm::AtomicRMWInst* update : updates) {
    functions.insert(update->getFunction());
    llvm::expandAtomicRMWToCmpXchg(update, exchange_if_equal);
  }
  for (llvm::Function* function : functions) canonicalize_nans(*function);
}

void sink_nan_checks(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    llvm::DominatorTree dominators(function);
    Sinking(function, llvm::LoopInfo(dominators)).run();
  }
}

llvm::PreservedAnalyses SinkNanChecks::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  const bool changed = Sinking(function, analyses.getResult<llvm::LoopAnalysis>(function)).run();
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace mneme::codegen::host
