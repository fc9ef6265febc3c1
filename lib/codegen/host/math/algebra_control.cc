// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the ring cannot stand in for: loops and addresses that depend on what numbers are.
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <vector>

#include "base/error.h"
#include "codegen/host/analysis/promoted_copy.h"
#include "codegen/host/math/algebra.h"

namespace mneme::codegen::host {
namespace {

using Values = llvm::SmallPtrSet<const llvm::Value*, 32>;

bool holds_number(const llvm::Value* value) { return value->getType()->isFPOrFPVectorTy(); }

// A comparison of numbers.
bool compares(const llvm::Instruction& instruction) {
  auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return llvm::isa<llvm::FCmpInst>(instruction) ||
         (intrinsic && intrinsic->getIntrinsicID() == llvm::Intrinsic::is_fpclass);
}

// An integer made of a number: its value, or its bits.
bool converts(const llvm::Instruction& instruction) {
  if (!instruction.getType()->isIntOrIntVectorTy() || compares(instruction)) return false;
  if (!llvm::isa<llvm::CastInst>(instruction) && !llvm::isa<llvm::IntrinsicInst>(instruction)) return false;
  return holds_number(instruction.getOperand(0));
}

// What is computed from values, but for numbers, and not by way of memory.
Values followed(const std::vector<const llvm::Instruction*>& from) {
  Values found(from.begin(), from.end());
  std::vector<const llvm::Value*> open(from.begin(), from.end());
  while (!open.empty()) {
    const llvm::Value* value = open.back();
    open.pop_back();
    for (const llvm::User* user : value->users()) {
      auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
      if (!instruction || instruction->getType()->isVoidTy() || holds_number(instruction)) continue;
      if (instruction->mayReadFromMemory() && !llvm::isa<llvm::CallBase>(instruction)) continue;
      if (found.insert(instruction).second) open.push_back(instruction);
    }
  }
  return found;
}

std::string place_of(const llvm::Instruction& instruction) {
  const llvm::DILocation* location = instruction.getDebugLoc();
  if (!location) return "";
  while (location->getInlinedAt()) location = location->getInlinedAt();
  return fmt::format(" ({}:{})", location->getFilename().str(), location->getLine());
}

// The address of an access.
const llvm::Value* address_of(const llvm::Instruction& instruction) {
  if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) return update->getPointerOperand();
  if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) return exchange->getPointerOperand();
  return llvm::getLoadStorePointerOperand(&instruction);
}

void refuse(llvm::Function& function, const std::string& kernel) {
  std::vector<const llvm::Instruction*> comparisons, integers;
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    if (compares(instruction)) comparisons.push_back(&instruction);
    if (converts(instruction)) integers.push_back(&instruction);
  }
  const Values values = followed(integers);
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    const llvm::Value* address = address_of(instruction);
    if (!address || !values.contains(address)) continue;
    throw Error::of(
        "kernel '{}': --algebra takes no kernel that computes addresses from floating-point numbers, as it does "
        "for an access{}",
        kernel, place_of(instruction));
  }
  comparisons.insert(comparisons.end(), integers.begin(), integers.end());
  const Values decisions = followed(comparisons);
  llvm::DominatorTree dominators(function);
  llvm::LoopInfo loops(dominators);
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    llvm::SmallVector<llvm::BasicBlock*, 4> exits;
    loop->getExitingBlocks(exits);
    const llvm::Instruction* decides = nullptr;
    for (const llvm::BasicBlock* block : exits) {
      auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
      decides = branch && branch->isConditional() && decisions.contains(branch->getCondition()) ? branch : nullptr;
      if (!decides) break;
    }
    if (!decides) continue;
    throw Error::of(
        "kernel '{}': --algebra takes no kernel with a loop that only floating-point numbers end, as they do "
        "one{}",
        kernel, place_of(*decides));
  }
}

}  // namespace

void refuse_number_control(llvm::Module& module, const std::string& kernel) {
  std::vector<llvm::Function*> functions;  // copies come and go meanwhile
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) functions.push_back(&function);
  }
  for (llvm::Function* function : functions) {
    PromotedCopy copy(*function);
    refuse(copy.function(), kernel);
  }
}

}  // namespace mneme::codegen::host
