// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/vectorize/keep_order.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/LoopIterator.h>
#include <llvm/Analysis/MemoryLocation.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

namespace mneme::codegen::host {
namespace {

struct Access {
  llvm::Instruction* instruction;
  const llvm::SCEVAddRecExpr* address;  // null: not one that the vectoriser would put together with others
};

// The address of an access with gaps to that of the next iteration: what others may be put into.
const llvm::SCEVAddRecExpr* strided_address(llvm::Instruction& access, const llvm::Loop& loop,
                                            llvm::ScalarEvolution& evolution) {
  llvm::Value* pointer = llvm::getLoadStorePointerOperand(&access);
  auto* address = pointer ? llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution.getSCEV(pointer)) : nullptr;
  if (!address || address->getLoop() != &loop || !address->isAffine()) return nullptr;
  auto* step = llvm::dyn_cast<llvm::SCEVConstant>(address->getStepRecurrence(evolution));
  uint64_t size = access.getDataLayout().getTypeStoreSize(llvm::getLoadStoreType(&access)).getKnownMinValue();
  return step && step->getAPInt().abs().ugt(size) ? address : nullptr;
}

// All that the loop does with memory, in the order in which the vectoriser goes through it.
llvm::SmallVector<Access, 16> accesses_in(llvm::Loop& loop, llvm::LoopInfo& loops, llvm::ScalarEvolution& evolution) {
  llvm::SmallVector<Access, 16> result;
  llvm::LoopBlocksDFS blocks(&loop);
  blocks.perform(&loops);
  for (llvm::BasicBlock* block : llvm::make_range(blocks.beginRPO(), blocks.endRPO())) {
    for (llvm::Instruction& instruction : *block) {
      if (!instruction.mayReadOrWriteMemory()) continue;
      result.push_back({&instruction, strided_address(instruction, loop, evolution)});
    }
  }
  return result;
}

// Whether both are loads, or both stores, of what lies the same distance apart in every iteration.
bool may_be_one(const Access& one, const Access& other, llvm::ScalarEvolution& evolution) {
  if (!one.address || !other.address) return false;
  if (one.instruction->getOpcode() != other.instruction->getOpcode()) return false;
  return one.address->getStepRecurrence(evolution) == other.address->getStepRecurrence(evolution) &&
         evolution.getPointerBase(one.address) == evolution.getPointerBase(other.address) &&
         llvm::isa<llvm::SCEVConstant>(evolution.getMinusSCEV(other.address, one.address));
}

// `accesses`, the first of which would be moved to one of the others, stand in the order in which it would pass them.
bool is_held_up(llvm::ArrayRef<Access> accesses, llvm::ScalarEvolution& evolution, llvm::AAResults& aliases) {
  const Access& moved = accesses.front();
  bool is_load = llvm::isa<llvm::LoadInst>(moved.instruction);
  llvm::MemoryLocation place = llvm::MemoryLocation::get(moved.instruction);
  bool met = false;
  for (const Access& access : accesses.drop_front()) {
    if (met && may_be_one(access, moved, evolution)) return true;
    if (met) continue;
    llvm::ModRefInfo effect = aliases.getModRefInfo(access.instruction, place);
    met = is_load ? llvm::isModSet(effect) : llvm::isModOrRefSet(effect);
  }
  return false;
}

void hide_address(llvm::Instruction& access) {
  unsigned operand = llvm::isa<llvm::LoadInst>(access) ? llvm::LoadInst::getPointerOperandIndex()
                                                       : llvm::StoreInst::getPointerOperandIndex();
  access.setOperand(operand, llvm::IRBuilder<>(&access).CreateFreeze(access.getOperand(operand)));
}

bool keep_order(llvm::Loop& loop, llvm::LoopInfo& loops, llvm::ScalarEvolution& evolution, llvm::AAResults& aliases) {
  llvm::SmallVector<Access, 16> down = accesses_in(loop, loops, evolution);
  llvm::SmallVector<Access, 16> up(llvm::reverse(down));
  llvm::SmallSetVector<llvm::Instruction*, 4> hidden;
  for (size_t i = 0; i < down.size(); ++i) {
    for (llvm::ArrayRef<Access> rest : {llvm::ArrayRef(up).drop_front(i), llvm::ArrayRef(down).drop_front(i)}) {
      const Access& moved = rest.front();
      bool goes_up = rest.data() == &up[i];
      if (!moved.address || llvm::isa<llvm::LoadInst>(moved.instruction) != goes_up) continue;
      if (is_held_up(rest, evolution, aliases)) hidden.insert(moved.instruction);
    }
  }
  for (llvm::Instruction* access : hidden) hide_address(*access);
  return !hidden.empty();
}

bool is_of_name(char c) { return llvm::isAlnum(c) || c == '-'; }

}  // namespace

std::string with_order_kept(const std::string& passes) {
  std::string result;
  for (size_t at = 0; at < passes.size();) {
    size_t end = at;
    while (end < passes.size() && is_of_name(passes[end])) end++;
    llvm::StringRef name(&passes[at], end - at);
    if (name == "loop-vectorize" || name == "loop-distribute" || name == "loop-load-elim")
      (result += KeepOrder::kName) += ',';
    if (end == at) end++;
    result.append(passes, at, end - at);
    at = end;
  }
  return result;
}

llvm::PreservedAnalyses KeepOrder::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  llvm::LoopInfo& loops = analyses.getResult<llvm::LoopAnalysis>(function);
  llvm::ScalarEvolution& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  llvm::AAResults& aliases = analyses.getResult<llvm::AAManager>(function);
  bool changed = false;
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (loop->isInnermost() && loop->isAnnotatedParallel()) changed |= keep_order(*loop, loops, evolution, aliases);
  }
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace mneme::codegen::host
