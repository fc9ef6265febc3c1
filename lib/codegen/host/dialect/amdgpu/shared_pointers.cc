// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pointers to shared memory have 32 bits on AMDGPU and 64 here: as an integer, one is its distance from the beginning
// of the block's shared memory, and so back. There, that is also the lower half of a generic pointer's address; here
// the lower half is another number, which tells from a distance by its size.
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/Support/AMDGPUAddrSpace.h>
#include <llvm/TargetParser/Triple.h>

#include "codegen/host/abi.h"
#include "codegen/host/dialect/amdgpu/raise.h"
#include "codegen/host/neutral/context.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

constexpr unsigned kShared = llvm::AMDGPUAS::LOCAL_ADDRESS;

bool has_integer_expression(const llvm::Constant& constant) {
  return llvm::any_of(constant.users(), [](const llvm::User* user) {
    auto* expression = llvm::dyn_cast<llvm::ConstantExpr>(user);
    if (!expression) return false;
    bool narrow = expression->getOpcode() == llvm::Instruction::PtrToInt &&
                  expression->getOperand(0)->getType()->getPointerAddressSpace() == kShared;
    return narrow || has_integer_expression(*expression);
  });
}

llvm::Value* beginning(llvm::IRBuilderBase& builder) {
  llvm::Value* context = call_context(builder);
  llvm::Value* shared = Context(*builder.GetInsertBlock()->getModule()).load(builder, context, Context::kShared);
  return builder.CreatePtrToInt(shared, builder.getInt64Ty());
}

void to_integer(llvm::PtrToIntInst& cast) {
  llvm::IRBuilder<> builder(&cast);
  llvm::Value* pointer = builder.CreateAddrSpaceCast(cast.getPointerOperand(), builder.getPtrTy());
  llvm::Value* address = builder.CreatePtrToInt(pointer, builder.getInt64Ty());
  llvm::Value* distance = builder.CreateSub(address, beginning(builder));
  cast.replaceAllUsesWith(builder.CreateZExtOrTrunc(distance, cast.getType()));
  cast.eraseFromParent();
}

void to_pointer(llvm::IntToPtrInst& cast) {
  llvm::IRBuilder<> builder(&cast);
  llvm::Value* offset = builder.CreateZExtOrTrunc(cast.getOperand(0), builder.getInt32Ty());
  llvm::Value* begin = beginning(builder);
  if (llvm::Triple(cast.getModule()->getTargetTriple()).isAMDGPU()) {
    llvm::Value* is_distance = builder.CreateICmpULT(offset, builder.getInt32(kLeastSharedAddress));
    llvm::Value* lower_half = builder.CreateTrunc(begin, builder.getInt32Ty());
    offset = builder.CreateSelect(is_distance, offset, builder.CreateSub(offset, lower_half));
  }
  llvm::Value* address = builder.CreateAdd(begin, builder.CreateZExt(offset, builder.getInt64Ty()));
  llvm::Value* pointer = builder.CreateIntToPtr(address, builder.getPtrTy());
  cast.replaceAllUsesWith(builder.CreateAddrSpaceCast(pointer, cast.getType()));
  cast.eraseFromParent();
}

}  // namespace

void raise_shared_pointers(llvm::Module& module) {
  llvm::SmallVector<llvm::Constant*, 4> variables;
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (variable.getAddressSpace() == kShared && has_integer_expression(variable)) variables.push_back(&variable);
  }
  if (!variables.empty()) llvm::convertUsersOfConstantsToInstructions(variables);
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      if (auto* cast = llvm::dyn_cast<llvm::PtrToIntInst>(&instruction)) {
        if (cast->getPointerAddressSpace() == kShared) to_integer(*cast);
      } else if (auto* back = llvm::dyn_cast<llvm::IntToPtrInst>(&instruction)) {
        if (back->getAddressSpace() == kShared) to_pointer(*back);
      }
    }
  }
}

}  // namespace mneme::codegen::host
