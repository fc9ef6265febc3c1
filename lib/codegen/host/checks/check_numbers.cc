// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/checks/check_numbers.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <vector>

#include "codegen/host/checks/checks.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

constexpr char kService[] = "found_number";
constexpr unsigned kMostOperands = 3;

// Of a device library, of the library of mathematics here, or of the C library: "log" of "__ocml_log_f32".
llvm::StringRef library_function(const llvm::Function& function) {
  llvm::StringRef name = function.getName();
  if (name.consume_front("__ocml_") || name.consume_front("mneme_")) {
    name.consume_front("native_");
    const auto [stem, suffix] = name.rsplit('_');
    return suffix == "f16" || suffix == "f32" || suffix == "f64" ? stem : name;
  }
  if (name.consume_front("__nv_")) {
    name.consume_front("fast_");
    return name;
  }
  return function.isDeclaration() && !function.isIntrinsic() && function.doesNotAccessMemory() ? name : "";
}

bool is_library(const llvm::Function& function) {
  const llvm::StringRef name = function.getName();
  return name.starts_with("__oc") || name.starts_with("__nv_") || name.starts_with("mneme_");
}

// As a sentence has it: infix for one of a character, else a function; empty: it makes no such numbers.
llvm::StringRef name_of(const llvm::Instruction& instruction) {
  if (!instruction.getType()->isFPOrFPVectorTy()) return "";
  switch (instruction.getOpcode()) {
    case llvm::Instruction::FAdd:
      return "+";
    case llvm::Instruction::FSub:
      return "-";
    case llvm::Instruction::FMul:
      return "*";
    case llvm::Instruction::FDiv:
      return "/";
    case llvm::Instruction::FRem:
      return "fmod";
    case llvm::Instruction::FPTrunc:
      return "rounding";
    default:
      break;
  }
  auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
  if (!callee || call->arg_empty() || call->arg_size() > kMostOperands) return "";
  if (llvm::any_of(call->args(), [](const llvm::Use& argument) { return argument->getType()->isPointerTy(); })) {
    return "";
  }
  if (!callee->isIntrinsic()) return library_function(*callee);
  llvm::StringRef name = llvm::Intrinsic::getBaseName(callee->getIntrinsicID());
  name.consume_front("llvm.");
  switch (callee->getIntrinsicID()) {
    case llvm::Intrinsic::fmuladd:
      return "fma";
    case llvm::Intrinsic::fma:
    case llvm::Intrinsic::sqrt:
    case llvm::Intrinsic::pow:
    case llvm::Intrinsic::powi:
    case llvm::Intrinsic::ldexp:
    case llvm::Intrinsic::exp:
    case llvm::Intrinsic::exp2:
    case llvm::Intrinsic::exp10:
    case llvm::Intrinsic::log:
    case llvm::Intrinsic::log2:
    case llvm::Intrinsic::log10:
    case llvm::Intrinsic::sin:
    case llvm::Intrinsic::cos:
    case llvm::Intrinsic::tan:
      return name;
    default:
      return "";
  }
}

// One element of a vector, or the number itself; integers as numbers.
llvm::Value* operand_as_double(llvm::IRBuilderBase& builder, llvm::Value* value, unsigned lane) {
  if (value->getType()->isVectorTy()) value = builder.CreateExtractElement(value, lane);
  if (value->getType()->isIntegerTy()) return builder.CreateSIToFP(value, builder.getDoubleTy());
  return builder.CreateFPCast(value, builder.getDoubleTy());
}

void check(Sites& sites, llvm::Instruction& instruction, llvm::StringRef name) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(instruction.getType());
  for (unsigned lane = 0; lane < (vector ? vector->getNumElements() : 1); ++lane) {
    llvm::IRBuilder<> builder(instruction.getNextNode());
    builder.SetCurrentDebugLocation(instruction.getDebugLoc());
    llvm::Value* number = vector ? builder.CreateExtractElement(&instruction, lane) : &instruction;
    llvm::Value* is_none = builder.createIsFPClass(number, llvm::fcNan | llvm::fcInf);
    llvm::MDNode* seldom = llvm::MDBuilder(builder.getContext()).createUnlikelyBranchWeights();
    builder.SetInsertPoint(
        llvm::SplitBlockAndInsertIfThen(is_none, &*builder.GetInsertPoint(), /*Unreachable=*/false, seldom));
    builder.SetCurrentDebugLocation(instruction.getDebugLoc());
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    const unsigned count = call ? call->arg_size() : instruction.getNumOperands();
    llvm::SmallVector<llvm::Value*, 8> arguments = {sites.text(name.str()), builder.getInt32(count),
                                                    operand_as_double(builder, &instruction, lane)};
    for (unsigned i = 0; i < kMostOperands; ++i) {
      arguments.push_back(i < count ? operand_as_double(builder, instruction.getOperand(i), lane)
                                    : llvm::ConstantFP::get(builder.getDoubleTy(), 0.0));
    }
    arguments.push_back(llvm::ConstantPointerNull::get(builder.getPtrTy()));
    call_service(builder, kService, builder.getVoidTy(), arguments);
  }
}

}  // namespace

void check_numbers(llvm::Module& module) {
  Sites sites(module);
  for (llvm::Function& function : module) {
    std::vector<std::pair<llvm::Instruction*, llvm::StringRef>> found;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (llvm::isa<llvm::FPMathOperator>(instruction)) {
        instruction.setHasNoNaNs(false);
        instruction.setHasNoInfs(false);
      }
      if (is_library(function)) continue;
      const llvm::StringRef name = name_of(instruction);
      if (!name.empty()) found.emplace_back(&instruction, name);
    }
    for (auto& [instruction, name] : found) check(sites, *instruction, name);
  }
}

void place_number_checks(llvm::Module& module) {
  Sites sites(module);
  for (llvm::Function& function : module) {
    for (auto& [call, operation] : operations_in(function)) {
      if (operation.kind != OperationKind::kService || !call->getCalledFunction()->getName().ends_with(kService)) {
        continue;
      }
      call->setArgOperand(call->arg_size() - 1, sites.site(*call, 0));
    }
  }
}

}  // namespace mneme::codegen::host
