// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/neutral/indirect_calls.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <map>
#include <set>
#include <vector>

#include "codegen/host/abi.h"
#include "codegen/host/neutral/function_addresses.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

using Candidates = std::map<llvm::FunctionType*, std::vector<llvm::Function*>>;

// Functions that a pointer may lead to, by type.
Candidates find_candidates(llvm::Module& module, llvm::StringRef kernel) {
  Candidates candidates;
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || function.getName() == kernel) continue;
    if (!function.hasLocalLinkage() || function.hasAddressTaken()) {
      candidates[function.getFunctionType()].push_back(&function);
    }
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  return candidates;
}

bool is_indirect(const llvm::CallBase& call) {
  if (call.isInlineAsm()) return false;
  auto* function = llvm::dyn_cast<llvm::Function>(call.getCalledOperand());
  return !function || function->getFunctionType() != call.getFunctionType();
}

// The same value in another type of as many bits, or null.
llvm::Value* as_bits(llvm::IRBuilderBase& builder, llvm::Value* value, llvm::Type* type) {
  const llvm::DataLayout& layout = builder.GetInsertBlock()->getDataLayout();
  if (value->getType() == type) return value;
  if (!value->getType()->isSingleValueType() || !type->isSingleValueType()) return nullptr;
  if (layout.getTypeSizeInBits(value->getType()) != layout.getTypeSizeInBits(type)) return nullptr;
  return builder.CreateBitOrPointerCast(value, type);
}

// A call of a function by a declaration of another type, as HIP's headers and its device library have them: as good as
// any if only the bits have to be passed on. Null: they have not.
llvm::Value* call_otherwise(llvm::IRBuilderBase& builder, llvm::CallBase& call, llvm::Function& function) {
  if (function.arg_size() != call.arg_size() || function.isVarArg()) return nullptr;
  llvm::SmallVector<llvm::Value*, 8> arguments;
  for (auto [argument, parameter] : llvm::zip(call.args(), function.args())) {
    arguments.push_back(as_bits(builder, argument, parameter.getType()));
    if (!arguments.back()) return nullptr;
  }
  llvm::Value* made = builder.CreateCall(&function, arguments);
  return call.getType()->isVoidTy() ? made : as_bits(builder, made, call.getType());
}

llvm::CallInst* call_directly(llvm::IRBuilderBase& builder, llvm::CallBase& call, llvm::Function& function) {
  llvm::SmallVector<llvm::Value*, 8> arguments(call.args());
  llvm::CallInst* made = builder.CreateCall(&function, arguments);
  made->setAttributes(call.getAttributes());
  if (llvm::isa<llvm::FPMathOperator>(made)) made->copyFastMathFlags(&call);
  return made;
}

// switch (pointer) { case <number of f>: result = f(arguments); … default: stop }
void choose(llvm::CallBase& call, const std::vector<llvm::Function*>& candidates, const bundle::KernelInfo& kernel) {
  llvm::BasicBlock* here = call.getParent();
  llvm::Function& function = *here->getParent();
  llvm::BasicBlock* after = llvm::SplitBlock(here, &call);
  llvm::BasicBlock* wild = llvm::BasicBlock::Create(call.getContext(), "wild", &function, after);
  bool has_value = !call.getType()->isVoidTy();
  llvm::IRBuilder<> builder(&call);
  llvm::PHINode* result = has_value ? builder.CreatePHI(call.getType(), 0) : nullptr;

  here->getTerminator()->eraseFromParent();
  builder.SetInsertPoint(here);
  llvm::Value* number = builder.CreatePtrToInt(call.getCalledOperand(), builder.getInt64Ty());
  llvm::SwitchInst* choice = builder.CreateSwitch(number, wild, static_cast<unsigned>(candidates.size()));
  std::set<uint64_t> met;
  for (llvm::Function* candidate : candidates) {
    uint64_t address = function_address(kernel, candidate->getName());
    if (!met.insert(address).second) continue;
    llvm::BasicBlock* chosen = llvm::BasicBlock::Create(call.getContext(), "chosen", &function, after);
    choice->addCase(builder.getInt64(address), chosen);
    builder.SetInsertPoint(chosen);
    llvm::CallInst* made = call_directly(builder, call, *candidate);
    builder.CreateBr(after);
    if (result) result->addIncoming(made, chosen);
  }
  builder.SetInsertPoint(wild);
  call_stop(builder, kWildCall);
  builder.CreateBr(after);
  if (result) {
    result->addIncoming(llvm::Constant::getNullValue(call.getType()), wild);
    call.replaceAllUsesWith(result);
  }
  call.eraseFromParent();
}

}  // namespace

void lower_indirect_calls(llvm::Module& module, const bundle::KernelInfo& kernel) {
  Candidates candidates = find_candidates(module, kernel.name);
  std::vector<llvm::CallBase*> calls;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call && is_indirect(*call)) calls.push_back(call);
    }
  }
  for (llvm::CallBase* call : calls) {
    if (auto* known = llvm::dyn_cast<llvm::Function>(call->getCalledOperand())) {
      llvm::IRBuilder<> builder(call);
      if (llvm::Value* made = call_otherwise(builder, *call, *known)) {
        if (!call->getType()->isVoidTy()) call->replaceAllUsesWith(made);
        call->eraseFromParent();
        continue;
      }
    }
    choose(*call, candidates[call->getFunctionType()], kernel);
  }
  lower_function_addresses(module, kernel);
}

}  // namespace mneme::codegen::host
