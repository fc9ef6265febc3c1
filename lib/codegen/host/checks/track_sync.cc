// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include "codegen/host/abi.h"
#include "codegen/host/checks/checks.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

bool is_block_barrier(const llvm::Instruction* instruction) {
  auto operation = instruction ? operation_at(*instruction) : std::nullopt;
  return operation && is_block_collective(*operation);
}

// The fences around a barrier are part of it.
bool is_beside_barrier(const llvm::FenceInst& fence) {
  auto passes = [](const llvm::Instruction* at) {
    return llvm::isa<llvm::FenceInst>(at) || !at->mayReadOrWriteMemory();
  };
  const llvm::Instruction *after = fence.getNextNode(), *before = fence.getPrevNode();
  while (after && passes(after)) after = after->getNextNode();
  while (before && passes(before)) before = before->getPrevNode();
  return is_block_barrier(after) || is_block_barrier(before);
}

void mark(Sites& sites, const llvm::Instruction& instruction, llvm::Instruction* before, TrackedSync kind) {
  llvm::IRBuilder<> builder(before);
  builder.SetCurrentDebugLocation(instruction.getDebugLoc());
  call_service(builder, "track_sync", builder.getVoidTy(), {builder.getInt32(kind), sites.site(instruction, 0)});
}

void mark(Sites& sites, llvm::CallInst& call, const Operation& operation) {
  if (is_block_collective(operation)) {
    llvm::Instruction* next = call.getNextNode();
    while (llvm::isa<llvm::FenceInst>(next)) next = next->getNextNode();
    mark(sites, call, next, operation.kind == OperationKind::kBarrierGrid ? kTrackedGridBarrier : kTrackedBarrier);
  } else if (is_wave_collective(operation)) {
    mark(sites, call, &call, kTrackedWave);
  }
}

}  // namespace

void track_synchronisation(llvm::Module& module) {
  Sites sites(module);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    for (auto& [call, operation] : operations_in(function)) mark(sites, *call, operation);
    llvm::SmallVector<llvm::FenceInst*, 8> fences;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* fence = llvm::dyn_cast<llvm::FenceInst>(&instruction);
      if (fence && fence->getSyncScopeID() != llvm::SyncScope::SingleThread) fences.push_back(fence);
    }
    for (llvm::FenceInst* fence : fences) {
      const bool of_block = within_block(*fence);
      if (of_block && is_beside_barrier(*fence)) continue;
      mark(sites, *fence, fence->getNextNode(), of_block ? kTrackedBlockFence : kTrackedFence);
    }
  }
}

}  // namespace mneme::codegen::host
