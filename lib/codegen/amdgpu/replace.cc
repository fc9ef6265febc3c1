// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/amdgpu/replace.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include <vector>

namespace mneme::codegen::amdgpu {
namespace {

constexpr uint32_t kGetRealTime = 0x83;  // a message

// Whether this, which adds to a number in memory at once, is left to LLVM. Where there is an instruction only for those
// who do not ask what was there before, whether they do is known after inlining only.
bool has_addition(const llvm::IntrinsicInst& call, const llvm::MCSubtargetInfo& processor) {
  if (call.getType()->isDoubleTy()) return processor.checkFeatures("+flat-buffer-global-fadd-f64-inst");
  if (!call.getType()->isFloatTy()) return true;  // nothing is known of it
  return processor.checkFeatures(call.getIntrinsicID() == llvm::Intrinsic::amdgcn_flat_atomic_fadd
                                     ? "+flat-atomic-fadd-f32-inst"
                                     : "+atomic-fadd-no-rtn-insts");
}

// What to take instead of it; nothing where it stays.
llvm::Value* instead_of(llvm::IntrinsicInst& call, const TargetId& target, const llvm::MCSubtargetInfo& processor) {
  llvm::IRBuilder<> builder(&call);
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::amdgcn_s_memrealtime:  // from generation 11 on it is asked for by a message
      if (target.generation < 11) return nullptr;
      return builder.CreateIntrinsic(llvm::Intrinsic::amdgcn_s_sendmsg_rtn, {builder.getInt64Ty()},
                                     {builder.getInt32(kGetRealTime)});
    case llvm::Intrinsic::amdgcn_s_memtime:  // and cycles are counted elsewhere
      if (target.generation < 11) return nullptr;
      return builder.CreateIntrinsic(llvm::Intrinsic::readcyclecounter, {}, {});
    case llvm::Intrinsic::amdgcn_global_atomic_fadd:
    case llvm::Intrinsic::amdgcn_flat_atomic_fadd:  // LLVM makes a loop of it
      if (has_addition(call, processor)) return nullptr;
      return builder.CreateAtomicRMW(llvm::AtomicRMWInst::FAdd, call.getArgOperand(0), call.getArgOperand(1),
                                     llvm::MaybeAlign(), llvm::AtomicOrdering::Monotonic,
                                     call.getContext().getOrInsertSyncScopeID("agent"));
    default:
      return nullptr;
  }
}

}  // namespace

void replace_lacking(llvm::Module& module, const TargetId& target, const llvm::MCSubtargetInfo& processor) {
  std::vector<llvm::IntrinsicInst*> calls;
  for (llvm::Function& intrinsic : module) {
    if (!intrinsic.isIntrinsic()) continue;
    for (llvm::User* user : intrinsic.users()) {
      if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(user)) calls.push_back(call);
    }
  }
  for (llvm::IntrinsicInst* call : calls) {
    llvm::Value* instead = instead_of(*call, target, processor);
    if (!instead) continue;
    call->replaceAllUsesWith(instead);
    call->eraseFromParent();
  }
}

}  // namespace mneme::codegen::amdgpu
