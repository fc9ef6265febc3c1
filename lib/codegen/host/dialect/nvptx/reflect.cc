// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// __nvvm_reflect("…"): what libdevice asks of the compilation. LLVM's NVPTX back end answers as here.
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/Local.h>

#include <set>

#include "codegen/host/dialect/nvptx/raise.h"

namespace mneme::codegen::host {
namespace {

// __CUDA_ARCH__ of the processor that the code was compiled for: 900 for sm_90.
int architecture(const llvm::Function& kernel) {
  llvm::StringRef processor = kernel.getFnAttribute("target-cpu").getValueAsString();
  unsigned number = 0;
  if (!processor.consume_front("sm_") || processor.consumeInteger(10, number)) return 0;
  return static_cast<int>(number * 10);
}

bool flushes(const llvm::Module& module) {
  auto* flag = llvm::mdconst::extract_or_null<llvm::ConstantInt>(module.getModuleFlag("nvvm-reflect-ftz"));
  return flag && !flag->isZero();
}

llvm::StringRef asked(const llvm::CallInst& call) {
  const llvm::Value* text = call.getArgOperand(0)->stripPointerCasts();
  // A constant in a space of its own comes by way of a call.
  if (auto* cast = llvm::dyn_cast<llvm::CallInst>(text)) text = cast->getArgOperand(0)->stripPointerCasts();
  llvm::StringRef name;
  return llvm::getConstantStringInfo(text, name) ? name : "";
}

// What follows from an answer, as far as it is known without memory.
void fold_users(llvm::Instruction& instruction, const llvm::DataLayout& layout) {
  std::set<llvm::Instruction*> pending = {&instruction};
  while (!pending.empty()) {
    llvm::Instruction* one = *pending.begin();
    pending.erase(pending.begin());
    llvm::Constant* value = llvm::ConstantFoldInstruction(one, layout);
    if (!value) continue;
    for (llvm::User* user : one->users()) {
      if (auto* next = llvm::dyn_cast<llvm::Instruction>(user)) pending.insert(next);
    }
    one->replaceAllUsesWith(value);
    one->eraseFromParent();
  }
}

}  // namespace

void answer_reflection(llvm::Module& module, const llvm::Function& kernel) {
  std::set<llvm::Function*> changed;
  for (const char* name : {"__nvvm_reflect", "llvm.nvvm.reflect", "llvm.nvvm.reflect.p0"}) {
    llvm::Function* reflect = module.getFunction(name);
    if (!reflect) continue;
    for (llvm::User* user : llvm::make_early_inc_range(reflect->users())) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(user);
      if (!call) continue;
      llvm::StringRef what = asked(*call);
      int answer = what == "__CUDA_ARCH" ? architecture(kernel) : what == "__CUDA_FTZ" ? flushes(module) : 0;
      if (what == "__CUDA_PREC_SQRT" || what == "__CUDA_PREC_DIV") answer = 1;
      changed.insert(call->getFunction());
      std::set<llvm::Instruction*> users;
      for (llvm::User* next : call->users()) {
        if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(next)) users.insert(instruction);
      }
      call->replaceAllUsesWith(llvm::ConstantInt::get(call->getType(), static_cast<uint64_t>(answer)));
      call->eraseFromParent();
      for (llvm::Instruction* instruction : users) fold_users(*instruction, module.getDataLayout());
    }
  }
  for (llvm::Function* function : changed) {
    for (llvm::BasicBlock& block : *function) llvm::ConstantFoldTerminator(&block);
    llvm::removeUnreachableBlocks(*function);
  }
}

}  // namespace mneme::codegen::host
