// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/checks/synchronisation.h"

#include <llvm/ADT/DepthFirstIterator.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include <vector>

#include "codegen/host/abi.h"
#include "codegen/host/checks/checks.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

// The mask of an operation of a CUDA warp.
llvm::Value* mask_of(const llvm::CallInst& call) {
  const llvm::Function* callee = call.getCalledFunction();
  llvm::StringRef name = callee ? callee->getName() : "";
  if (!name.consume_front("llvm.nvvm.")) return nullptr;
  const bool is_first = name.starts_with("shfl.sync.") || name == "bar.warp.sync" || name.starts_with("match.") ||
                        (name.starts_with("vote.") && name.ends_with(".sync"));
  if (is_first) return call.getArgOperand(0);
  return name.starts_with("redux.sync.") ? call.getArgOperand(1) : nullptr;
}

bool is_bare_barrier(const llvm::CallInst& call) {
  if (call.getIntrinsicID() != llvm::Intrinsic::amdgcn_s_barrier) return false;
  if (call.getFunction()->getName().contains("__barrier")) return false;  // the device library's own
  for (const llvm::Instruction* at = call.getPrevNode(); at; at = at->getPrevNode()) {
    auto* fence = llvm::dyn_cast<llvm::FenceInst>(at);
    if (fence && llvm::isReleaseOrStronger(fence->getOrdering())) return false;
    auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(at);
    if (intrinsic && intrinsic->getIntrinsicID() == llvm::Intrinsic::amdgcn_s_waitcnt) return false;
    if (llvm::isa<llvm::CallBase>(at) && !intrinsic) return false;  // it may have one
    if (llvm::isa<llvm::StoreInst>(at)) return true;
  }
  return true;
}

bool is_bare_barrier_mark(const llvm::CallInst& call) {
  auto* kind = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0));
  return kind && kind->getZExtValue() == kTrackedBareBarrier;
}

// Whether nothing happens from here on.
bool only_ends(const llvm::BasicBlock* from) {
  for (const llvm::BasicBlock* block : llvm::depth_first(from)) {
    for (const llvm::Instruction& instruction : *block) {
      if (instruction.mayHaveSideEffects() && !llvm::isa<llvm::LifetimeIntrinsic>(instruction)) return false;
    }
  }
  return true;
}

// Whether all ways that lead past a barrier only end.
bool is_missed_at_end(const llvm::Instruction& barrier) {
  llvm::SmallPtrSet<const llvm::BasicBlock*, 32> ahead;  // that lead to the barrier
  std::vector<const llvm::BasicBlock*> found = {barrier.getParent()};
  ahead.insert(barrier.getParent());
  while (!found.empty()) {
    const llvm::BasicBlock* block = found.back();
    found.pop_back();
    for (const llvm::BasicBlock* before : llvm::predecessors(block)) {
      if (ahead.insert(before).second) found.push_back(before);
    }
  }
  for (const llvm::BasicBlock* block : ahead) {
    if (block == barrier.getParent()) continue;
    for (const llvm::BasicBlock* next : llvm::successors(block)) {
      if (!ahead.contains(next) && !only_ends(next)) return false;
    }
  }
  return true;
}

void call_track_sync(llvm::Instruction& at, Sites& sites, uint32_t kind, uint32_t flags) {
  llvm::IRBuilder<> builder(&at);
  call_service(builder, "track_sync", builder.getVoidTy(), {builder.getInt32(kind), sites.site(at, flags)});
}

}  // namespace

void track_masks_and_bare_barriers(llvm::Module& module) {
  Sites sites(module);
  std::vector<llvm::CallInst*> calls;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) calls.push_back(call);
    }
  }
  for (llvm::CallInst* call : calls) {
    if (llvm::Value* mask = mask_of(*call)) {
      llvm::IRBuilder<> builder(call);
      llvm::Value* here = call_ballot(builder, builder.getTrue());
      call_service(builder, "track_mask", builder.getVoidTy(),
                   {builder.CreateZExt(mask, builder.getInt64Ty()), here, sites.site(*call, 0)});
    } else if (is_bare_barrier(*call)) {
      call_track_sync(*call, sites, kTrackedBareBarrier, 0);
    }
  }
}

void track_arrivals(llvm::Module& module, const std::string& kernel) {
  Sites sites(module);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    std::vector<std::pair<llvm::Instruction*, uint32_t>> barriers;
    std::vector<llvm::Instruction*> ends;
    // Marks from before inlining are in the vendor's headers.
    for (auto& [call, operation] : operations_in(function)) {
      if (operation.kind != OperationKind::kService) continue;
      llvm::StringRef service = kServiceNames[operation.service];
      if (service == "track_mask" || (service == "track_sync" && is_bare_barrier_mark(*call))) {
        call->setArgOperand(call->arg_size() - 1, sites.site(*call, 0));
      }
    }
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto operation = operation_at(instruction);
      if (operation && is_block_collective(*operation)) {
        barriers.emplace_back(&instruction, is_missed_at_end(instruction) ? kMissedAtEnd : 0);
      } else if (llvm::isa<llvm::ReturnInst>(instruction) && function.getName() == kernel) {
        ends.push_back(&instruction);
      }
    }
    for (auto& [barrier, flags] : barriers) call_track_sync(*barrier, sites, kTrackedArrival, flags);
    for (llvm::Instruction* end : ends) call_track_sync(*end, sites, kTrackedEnd, 0);
  }
}

}  // namespace mneme::codegen::host
