// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/semantics/dynamic_locals.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <vector>

#include "codegen/host/abi.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

using llvm::Value;

constexpr uint64_t kSize = 64 * 1024;  // 64 times what CUDA gives a thread by default; a fiber's stack has 256 KiB
constexpr uint64_t kAlign = 128;
constexpr llvm::StringLiteral kMark = "mneme.stack";

class DynamicStack {
 public:
  explicit DynamicStack(llvm::Function& function)
      : layout_(function.getParent()->getDataLayout()), builder_(&function.getEntryBlock().front()) {
    stack_ = builder_.CreateAlloca(llvm::ArrayType::get(builder_.getInt8Ty(), kSize));
    stack_->setAlignment(llvm::Align(kAlign));
    stack_->setMetadata(kMark, llvm::MDNode::get(function.getContext(), {}));
    used_ = builder_.CreateAlloca(builder_.getInt64Ty());
    builder_.CreateStore(builder_.getInt64(0), used_);
  }

  void place(llvm::AllocaInst& local) {
    uint64_t align = std::min<uint64_t>(local.getAlign().value(), kAlign);
    builder_.SetInsertPoint(&local);
    Value* count = builder_.CreateZExtOrTrunc(local.getArraySize(), builder_.getInt64Ty());
    Value* element = builder_.getInt64(layout_.getTypeAllocSize(local.getAllocatedType()));
    Value* size = builder_.CreateMul(count, element);
    Value* used = builder_.CreateLoad(builder_.getInt64Ty(), used_);
    Value* begin = builder_.CreateAnd(builder_.CreateAdd(used, builder_.getInt64(align - 1)), ~(align - 1));
    Value* left = builder_.CreateSub(builder_.getInt64(kSize), begin);
    llvm::Instruction* full = llvm::SplitBlockAndInsertIfThen(builder_.CreateICmpUGT(size, left), &local, false);
    builder_.SetInsertPoint(full);
    call_stop(builder_, kOther,
              builder_.CreateGlobalString(fmt::format("has local arrays of more than {} bytes by alloca()", kSize)));
    builder_.SetInsertPoint(&local);
    // What follows the end of a launch is never reached, but must be within bounds.
    size = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, size, left);
    Value* address = builder_.CreateGEP(builder_.getInt8Ty(), stack_, begin);
    builder_.CreateMemSet(address, builder_.getInt8(0), size, llvm::Align(align));
    builder_.CreateStore(builder_.CreateAdd(begin, size), used_);
    for (llvm::User* user : llvm::make_early_inc_range(local.users())) {
      auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(user);
      if (intrinsic && intrinsic->isLifetimeStartOrEnd()) intrinsic->eraseFromParent();
    }
    local.replaceAllUsesWith(address);
    local.eraseFromParent();
  }

  void save(llvm::IntrinsicInst& call) {
    builder_.SetInsertPoint(&call);
    Value* used = builder_.CreateLoad(builder_.getInt64Ty(), used_);
    call.replaceAllUsesWith(builder_.CreateIntToPtr(used, call.getType()));
    call.eraseFromParent();
  }

  void restore(llvm::IntrinsicInst& call) {
    builder_.SetInsertPoint(&call);
    builder_.CreateStore(builder_.CreatePtrToInt(call.getArgOperand(0), builder_.getInt64Ty()), used_);
    call.eraseFromParent();
  }

 private:
  const llvm::DataLayout& layout_;
  llvm::IRBuilder<> builder_;
  llvm::AllocaInst *stack_ = nullptr, *used_ = nullptr;
};

void place(llvm::Function& function) {
  std::vector<llvm::AllocaInst*> locals;
  std::vector<llvm::IntrinsicInst*> saves, restores;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* local = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (local && !local->isStaticAlloca()) locals.push_back(local);
    auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (intrinsic && intrinsic->getIntrinsicID() == llvm::Intrinsic::stacksave) saves.push_back(intrinsic);
    if (intrinsic && intrinsic->getIntrinsicID() == llvm::Intrinsic::stackrestore) restores.push_back(intrinsic);
  }
  if (locals.empty() && saves.empty() && restores.empty()) return;
  DynamicStack stack(function);
  for (llvm::AllocaInst* local : locals) stack.place(*local);
  for (llvm::IntrinsicInst* call : saves) stack.save(*call);
  for (llvm::IntrinsicInst* call : restores) stack.restore(*call);
}

}  // namespace

bool is_dynamic_stack(const llvm::AllocaInst& local) { return local.hasMetadata(kMark); }

void place_dynamic_locals(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) place(function);
  }
}

}  // namespace mneme::codegen::host
