// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/dialect/nvptx/ptx/carry.h"

#include <llvm/IR/Instructions.h>

#include <map>
#include <vector>

#include "base/error.h"

namespace mneme::codegen::host {
namespace {

constexpr char kRead[] = "mneme.carry.read", kWrite[] = "mneme.carry.write";

// Calls of the function, by the function that they are in.
std::map<llvm::Function*, std::vector<llvm::CallInst*>> calls_of(llvm::Function* function) {
  std::map<llvm::Function*, std::vector<llvm::CallInst*>> calls;
  if (!function) return calls;
  for (llvm::User* user : function->users()) {
    auto* call = llvm::cast<llvm::CallInst>(user);
    calls[call->getFunction()].push_back(call);
  }
  return calls;
}

}  // namespace

llvm::Value* read_carry(llvm::IRBuilderBase& builder) {
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  return builder.CreateCall(module.getOrInsertFunction(kRead, builder.getInt1Ty()));
}

void write_carry(llvm::IRBuilderBase& builder, llvm::Value* carry) {
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  builder.CreateCall(module.getOrInsertFunction(kWrite, builder.getVoidTy(), builder.getInt1Ty()), carry);
}

void place_carries(llvm::Module& module, const bundle::KernelInfo& kernel) {
  llvm::Function *read = module.getFunction(kRead), *write = module.getFunction(kWrite);
  auto reads = calls_of(read), writes = calls_of(write);
  for (auto& [function, calls] : writes) {
    llvm::IRBuilder<> builder(&*function->getEntryBlock().getFirstInsertionPt());
    llvm::Value* carry = builder.CreateAlloca(builder.getInt1Ty());
    builder.CreateStore(builder.getFalse(), carry);
    for (llvm::CallInst* call : calls) {
      builder.SetInsertPoint(call);
      builder.CreateStore(call->getArgOperand(0), carry);
      call->eraseFromParent();
    }
    for (llvm::CallInst* call : reads[function]) {
      builder.SetInsertPoint(call);
      call->replaceAllUsesWith(builder.CreateLoad(builder.getInt1Ty(), carry));
      call->eraseFromParent();
    }
    reads.erase(function);
  }
  for (const auto& [function, calls] : reads) {
    if (function->getName() != kernel.name || !writes.empty()) {
      throw Error::of(
          "kernel '{}' has inline assembly in {} that adds a carry of another function's, which the host "
          "device does not have",
          kernel.demangled, function->getName().str());
    }
    for (llvm::CallInst* call : calls) {
      call->replaceAllUsesWith(llvm::ConstantInt::getFalse(call->getContext()));
      call->eraseFromParent();
    }
  }
  for (llvm::Function* function : {read, write}) {
    if (function) function->eraseFromParent();
  }
}

}  // namespace mneme::codegen::host
