// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/sync/in_step.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "codegen/host/analysis/promoted_copy.h"
#include "codegen/host/neutral/neutral.h"
#include "codegen/host/sync/shared_access.h"
#include "codegen/host/sync/sync_points.h"

namespace mneme::codegen::host {
namespace {

// Whether numbers and pointers are still kept in memory, as code has it that is not to be optimised.
bool keeps_locals(llvm::Function& function) {
  return llvm::any_of(llvm::instructions(function), [](llvm::Instruction& instruction) {
    auto* local = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (!local || !local->getAllocatedType()->isIntOrPtrTy()) return false;
    return llvm::all_of(local->users(), [](llvm::User* user) {
      return llvm::isa<llvm::LoadInst, llvm::StoreInst, llvm::MemSetInst, llvm::LifetimeIntrinsic>(user);
    });
  });
}

SyncPoints find_points(llvm::Function& function, const SyncContext& context, bool is_kernel) {
  if (!keeps_locals(function)) return find_sync_points(function, context, is_kernel);
  PromotedCopy copy(function);
  Spaces spaces(*function.getParent(), is_kernel ? &copy.function() : nullptr);
  SyncContext there = {spaces, context.wave_size, context.calls, context.any_rows};
  SyncPoints found = find_sync_points(copy.function(), there, is_kernel);
  for (SyncPoint& point : found.points) point.before = copy.original(*point.before);
  // One access may have been promoted to several.
  llvm::SmallPtrSet<llvm::Instruction*, 8> seen;
  llvm::erase_if(found.points, [&](const SyncPoint& point) { return !seen.insert(point.before).second; });
  return found;
}

bool is_collective_call(const llvm::Instruction& instruction) {
  auto operation = operation_at(instruction);
  return operation && (is_block_collective(*operation) || is_wave_collective(*operation));
}

// What holds within one thread does not hold between the lanes that share a loop: they may store halves of a word that
// another loads whole. Private memory is a thread's own.
void forget_what_threads_know(llvm::Function& function, const Spaces& spaces) {
  bool has_collectives = llvm::any_of(llvm::instructions(function), is_collective_call);
  if (!has_collectives) return;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (!instruction.mayReadOrWriteMemory()) continue;
    const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
    if (pointer && !spaces.of(pointer)) continue;
    for (unsigned kind : {llvm::LLVMContext::MD_tbaa, llvm::LLVMContext::MD_tbaa_struct,
                          llvm::LLVMContext::MD_alias_scope, llvm::LLVMContext::MD_noalias}) {
      instruction.setMetadata(kind, nullptr);
    }
  }
}

void drop_fences_within_blocks(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* fence = llvm::dyn_cast<llvm::FenceInst>(&instruction);
    if (fence && within_block(*fence)) fence->eraseFromParent();
  }
}

}  // namespace

LanesInStep keep_lanes_in_step(llvm::Module& module, const std::string& kernel, unsigned wave_size, bool any_rows) {
  Spaces spaces(module, module.getFunction(kernel));
  SyncContext context = {spaces, wave_size, Calls::kNothing, any_rows};
  // Functions that could not be inlined.
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || function.getName() == kernel) continue;
    context.calls = std::max(context.calls, effects_of(function, spaces));
  }
  std::vector<SyncPoint> points;
  LanesInStep result;
  llvm::SmallVector<llvm::Function*, 8> functions(llvm::make_pointer_range(module));
  for (llvm::Function* each : functions) {  // copies come and go meanwhile
    llvm::Function& function = *each;
    if (function.isDeclaration()) continue;
    SyncPoints found = find_points(function, context, function.getName() == kernel);
    llvm::append_range(points, found.points);
    if (found.dimensions) result.dimensions = found.dimensions;
    if (!found.unordered.empty()) {
      result.remarks.push_back("lanes keep no order between " + found.unordered +
                               ": in or behind a loop in which lanes of a wave may wait for each other");
    }
  }
  for (const SyncPoint& point : points) {
    llvm::IRBuilder<> builder(point.before);
    point.of_block ? call_barrier(builder) : call_wave_sync(builder);
    result.remarks.push_back("lanes synchronise between " + point.between);
  }
  for (llvm::Function& function : module) {
    drop_fences_within_blocks(function);
    forget_what_threads_know(function, spaces);
  }
  return result;
}

}  // namespace mneme::codegen::host
