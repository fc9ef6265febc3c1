// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/lower.h"
#include "codegen/host/neutral.h"

namespace mneme::codegen::host {

void lower_services(llvm::Module& module) {
  Context context_type(module);
  for (llvm::Function& function : module) {
    for (auto& [call, operation] : operations_in(function)) {
      if (operation.kind != OperationKind::kService) continue;
      llvm::IRBuilder<> builder(call);
      llvm::Value* context = call_context(builder);
      llvm::SmallVector<llvm::Value*, 12> arguments = {context, thread_index(builder)};
      arguments.append(call->arg_begin(), call->arg_end());
      llvm::SmallVector<llvm::Type*, 12> types;
      for (llvm::Value* argument : arguments) types.push_back(argument->getType());
      llvm::Value* table = context_type.load(builder, context, Context::kServices);
      llvm::LoadInst* service = builder.CreateLoad(
          builder.getPtrTy(), builder.CreateConstInBoundsGEP1_64(builder.getPtrTy(), table, operation.service));
      service->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(module.getContext(), {}));
      llvm::CallInst* made =
          builder.CreateCall(llvm::FunctionType::get(call->getType(), types, false), service, arguments);
      made->setDoesNotThrow();
      call->replaceAllUsesWith(made);
      call->eraseFromParent();
    }
  }
}

}  // namespace mneme::codegen::host
