// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/semantics/flush_denormals.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <vector>

#include "codegen/host/neutral/algebra_mark.h"

namespace mneme::codegen::host {
namespace {

constexpr char kMode[] = "denormal-fp-math-f32";

bool is_float(const llvm::Value& value) { return value.getType()->getScalarType()->isFloatTy(); }

bool flushes(const llvm::Function& function, const llvm::Function& kernel) {
  llvm::DenormalMode mode = function.getDenormalMode(llvm::APFloat::IEEEsingle());
  if (mode.Input == llvm::DenormalMode::Dynamic || mode.Output == llvm::DenormalMode::Dynamic) {
    mode = kernel.getDenormalMode(llvm::APFloat::IEEEsingle());
  }
  auto is_zero = [](llvm::DenormalMode::DenormalModeKind kind) {
    return kind == llvm::DenormalMode::PreserveSign || kind == llvm::DenormalMode::PositiveZero;
  };
  return is_zero(mode.Input) || is_zero(mode.Output);
}

bool is_arithmetic(const llvm::CallInst& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (!callee) return false;
  if (!callee->isIntrinsic()) return callee->getName().starts_with("mneme_");  // of the library of mathematics
  switch (callee->getIntrinsicID()) {
    case llvm::Intrinsic::canonicalize:
    case llvm::Intrinsic::ceil:
    case llvm::Intrinsic::cos:
    case llvm::Intrinsic::exp:
    case llvm::Intrinsic::exp2:
    case llvm::Intrinsic::exp10:
    case llvm::Intrinsic::floor:
    case llvm::Intrinsic::fma:
    case llvm::Intrinsic::fmuladd:
    case llvm::Intrinsic::frexp:
    case llvm::Intrinsic::ldexp:
    case llvm::Intrinsic::log:
    case llvm::Intrinsic::log2:
    case llvm::Intrinsic::log10:
    case llvm::Intrinsic::maximum:
    case llvm::Intrinsic::maxnum:
    case llvm::Intrinsic::minimum:
    case llvm::Intrinsic::minnum:
    case llvm::Intrinsic::nearbyint:
    case llvm::Intrinsic::pow:
    case llvm::Intrinsic::powi:
    case llvm::Intrinsic::rint:
    case llvm::Intrinsic::round:
    case llvm::Intrinsic::roundeven:
    case llvm::Intrinsic::sin:
    case llvm::Intrinsic::sqrt:
    case llvm::Intrinsic::tan:
    case llvm::Intrinsic::trunc:
      return true;
    default:
      return false;
  }
}

// What only moves a number, or changes its sign, leaves it as it is.
bool is_arithmetic(const llvm::Instruction& instruction) {
  if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) return is_arithmetic(*call);
  if (llvm::isa<llvm::BinaryOperator>(instruction)) return is_float(instruction);
  return llvm::isa<llvm::FPTruncInst, llvm::FPExtInst, llvm::FCmpInst>(instruction);
}

bool may_be_denormal(const llvm::Value& value) {
  auto* number = llvm::dyn_cast<llvm::ConstantFP>(&value);
  return number ? number->getValueAPF().isDenormal() : !llvm::isa<llvm::SIToFPInst, llvm::UIToFPInst>(value);
}

void flush_denormals(llvm::Function& function) {
  std::vector<llvm::Instruction*> arithmetic;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (is_arithmetic(instruction)) arithmetic.push_back(&instruction);
  }
  llvm::SmallPtrSet<const llvm::Value*, 32> flushed;
  for (llvm::Instruction* instruction : arithmetic) {
    if (!is_float(*instruction)) continue;
    llvm::IRBuilder<> after(instruction->getNextNode());
    after.SetCurrentDebugLocation(instruction->getDebugLoc());
    std::vector<llvm::Use*> uses;
    for (llvm::Use& use : instruction->uses()) uses.push_back(&use);
    llvm::Value* result = flush(after, instruction);
    for (llvm::Use* use : uses) use->set(result);
    flushed.insert(result);
  }
  for (llvm::Instruction* instruction : arithmetic) {
    llvm::IRBuilder<> before(instruction);
    auto* call = llvm::dyn_cast<llvm::CallInst>(instruction);
    for (llvm::Use& operand : call ? call->args() : instruction->operands()) {
      if (!is_float(*operand) || !may_be_denormal(*operand) || flushed.contains(operand)) continue;
      operand.set(flush(before, operand));
    }
  }
}

}  // namespace

llvm::Value* flush(llvm::IRBuilderBase& builder, llvm::Value* x) {
  if (is_algebra(*builder.GetInsertBlock()->getModule())) return x;
  llvm::Type* type = x->getType();
  llvm::APFloat least = llvm::APFloat::getSmallestNormalized(type->getScalarType()->getFltSemantics());
  llvm::Value* small =
      builder.CreateFCmpOLT(builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x), llvm::ConstantFP::get(type, least));
  llvm::Value* zero = builder.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, llvm::ConstantFP::get(type, 0.0), x);
  return builder.CreateSelect(small, zero, x);
}

void flush_denormals(llvm::Module& module, const llvm::Function& kernel, llvm::StringRef but_not) {
  if (is_algebra(module)) return;
  std::vector<llvm::Function*> functions;
  for (llvm::Function& function : module) {
    const bool stays = !but_not.empty() && function.getName().starts_with(but_not);
    if (!stays && !function.isDeclaration() && flushes(function, kernel)) functions.push_back(&function);
  }
  for (llvm::Function* function : functions) {
    flush_denormals(*function);
    function->addFnAttr(kMode, "ieee,ieee");  // LLVM would take the comparisons with the smallest for ones with zero
  }
}

}  // namespace mneme::codegen::host
