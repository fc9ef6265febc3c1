// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>

#include "codegen/host/abi.h"
#include "codegen/host/neutral/context.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {

bool uses_ordered_services(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    std::optional<Operation> operation = operation_of(function);
    if (!operation || operation->kind != OperationKind::kService || function.use_empty()) continue;
    llvm::StringRef name = kServiceNames[operation->service];
    if (name.starts_with("print_") || name.starts_with("allocate") || name.starts_with("release")) return true;
  }
  return false;
}

llvm::CallInst* call_through_table(llvm::IRBuilderBase& builder, std::string_view service, llvm::Type* result,
                                   llvm::Value* context, llvm::Value* thread, llvm::ArrayRef<llvm::Value*> more) {
  llvm::SmallVector<llvm::Value*, 12> arguments = {context, thread};
  arguments.append(more.begin(), more.end());
  llvm::SmallVector<llvm::Type*, 12> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  auto number = std::ranges::find(kServiceNames, service) - std::ranges::begin(kServiceNames);
  llvm::Value* table = Context(*builder.GetInsertBlock()->getModule()).load(builder, context, Context::kServices);
  llvm::Value* member = builder.CreateConstInBoundsGEP1_64(builder.getPtrTy(), table, static_cast<uint64_t>(number));
  llvm::LoadInst* loaded = builder.CreateLoad(builder.getPtrTy(), member);
  loaded->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(builder.getContext(), {}));
  llvm::CallInst* call = builder.CreateCall(llvm::FunctionType::get(result, types, false), loaded, arguments);
  call->setDoesNotThrow();
  return call;
}

void lower_services(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (auto& [call, operation] : operations_in(function)) {
      if (operation.kind != OperationKind::kService) continue;
      llvm::IRBuilder<> builder(call);
      llvm::Value* context = call_context(builder);
      llvm::Value* thread = thread_index(builder);
      call->replaceAllUsesWith(call_through_table(builder, kServiceNames[operation.service], call->getType(), context,
                                                  thread, llvm::SmallVector<llvm::Value*, 12>(call->args())));
      call->eraseFromParent();
    }
  }
}

}  // namespace mneme::codegen::host
