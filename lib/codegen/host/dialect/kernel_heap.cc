// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   %p = call ptr @__mneme_malloc(i64 %n)    ─▶    %p = call ptr @mneme.service.allocate_in(ptr @__mneme_heap, i64 %n)
//
// The allocator that mneme-inject links into device code is long, and its loops read what other threads write: compiled
// into each kernel it would cost seconds. The host device has it as a service.
#include <llvm/IR/IRBuilder.h>

#include "ir/as_type.h"
#include "codegen/host/dialect/raise.h"
#include "codegen/host/neutral/neutral.h"
#include "objects/device_heap.h"

namespace mneme::codegen::host {

using ir::as_type;

namespace {

// HIP's device library has addresses as numbers.
void call_instead(llvm::Module& module, const char* name, const char* service, llvm::Constant* heap) {
  llvm::Function* function = module.getFunction(name);
  if (!function) return;
  for (llvm::User* user : llvm::make_early_inc_range(function->users())) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(user);
    if (!call || call->getCalledOperand() != function || call->arg_size() != 1) continue;
    llvm::IRBuilder<> builder(call);
    const bool releases = call->getType()->isVoidTy();
    llvm::Type *number = builder.getInt64Ty(), *address = builder.getPtrTy();
    llvm::Type *argument = releases ? address : number, *result = releases ? builder.getVoidTy() : address;
    llvm::Value* value =
        call_service(builder, service, result, {heap, as_type(builder, call->getArgOperand(0), argument)});
    if (!releases) call->replaceAllUsesWith(as_type(builder, value, call->getType()));
    call->eraseFromParent();
  }
}

}  // namespace

void raise_kernel_heap(llvm::Module& module) {
  llvm::GlobalVariable* variable = module.getNamedGlobal(objects::kHeapVariable);
  if (!variable) return;
  llvm::Constant* heap =
      llvm::ConstantExpr::getAddrSpaceCast(variable, llvm::PointerType::getUnqual(module.getContext()));
  call_instead(module, objects::kHeapAllocate, "allocate_in", heap);
  call_instead(module, objects::kHeapRelease, "release_in", heap);
}

}  // namespace mneme::codegen::host
