// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>

#include "codegen/host/dialect/amdgpu/gcn/gcn.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

bool raise_statements(llvm::CallInst& call, llvm::IRBuilderBase& builder) {
  GcnRegisters registers(call, builder);
  std::optional<std::string> text = registers.bind();
  if (!text) return false;
  auto statements = parse_gcn(*text);
  if (!statements) return false;
  const bool is_volatile = llvm::cast<llvm::InlineAsm>(call.getCalledOperand())->hasSideEffects();
  for (const GcnStatement& statement : *statements) {
    GcnInstruction instruction{builder, statement, registers, is_volatile};
    if (!raise_gcn_control(instruction) && !raise_gcn_memory(instruction) && !raise_gcn_shared(instruction) &&
        !raise_gcn_buffer(instruction) && !raise_gcn_arithmetic(instruction)) {
      return false;
    }
  }
  return registers.give_results();
}

// What was made before something was met that is not known goes again.
void raise_call(llvm::CallInst& call) {
  llvm::Instruction* before = call.getPrevNode();
  llvm::IRBuilder<> builder(&call);
  if (raise_statements(call, builder)) {
    fence_compiler(call);
    call.eraseFromParent();
    return;
  }
  while (call.getPrevNode() != before) {
    llvm::Instruction* made = call.getPrevNode();
    made->replaceAllUsesWith(llvm::PoisonValue::get(made->getType()));
    made->eraseFromParent();
  }
}

}  // namespace

void raise_gcn_assembly(llvm::Module& module) {
  std::vector<llvm::CallInst*> calls;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call && call->isInlineAsm()) calls.push_back(call);
    }
  }
  for (llvm::CallInst* call : calls) raise_call(*call);
}

}  // namespace mneme::codegen::host
