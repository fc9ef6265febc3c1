// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/analysis/uniformity.h"

#include <llvm/Analysis/PostDominators.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include "codegen/host/analysis/reachable.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

constexpr llvm::StringLiteral kUniform = "mneme.uniform";

// What the launch is like, which no kernel changes.
bool reads_launch(const llvm::Instruction& instruction) {
  auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
  auto* object =
      load ? llvm::dyn_cast<llvm::Instruction>(llvm::getUnderlyingObject(load->getPointerOperand())) : nullptr;
  auto operation = object ? operation_at(*object) : std::nullopt;
  return operation && (operation->kind == OperationKind::kImplicit || operation->kind == OperationKind::kDispatch);
}

// Values that no operand explains: what memory holds may differ by address and, for atomics, by turn. What
// cannot change while the kernel runs is the same for all who read it at the same address.
bool is_source(const llvm::Instruction& instruction) {
  if (llvm::isa<llvm::AllocaInst>(instruction)) return true;
  auto operation = operation_at(instruction);
  if (operation && operation->kind == OperationKind::kQuery) return operation->query == Query::kLocalId;
  if (!instruction.mayReadOrWriteMemory() || reads_launch(instruction)) return false;
  return !instruction.hasMetadata(llvm::LLVMContext::MD_invariant_load);
}

// Whatever it is made of.
bool is_the_same_for_all(const llvm::Instruction& instruction) {
  if (instruction.hasMetadata(kUniform)) return true;
  auto operation = operation_at(instruction);
  return operation && operation->kind == OperationKind::kBarrierCount;
}

bool has(const llvm::BasicBlock& block, bool (*is)(const Operation&)) {
  return llvm::any_of(block, [is](const llvm::Instruction& instruction) {
    auto operation = operation_at(instruction);
    return operation && is(*operation);
  });
}

// Divergence spreads from values to what is computed with them, and from branches to what depends on the way
// taken.
class Spread {
 public:
  explicit Spread(llvm::Function& item) : joins_(item) {}

  void mark(const llvm::Value* value) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (instruction && is_the_same_for_all(*instruction)) return;
    if (divergent.insert(value).second) work_.push_back(value);
  }

  void run() {
    while (!work_.empty()) {
      const llvm::Value* value = work_.back();
      work_.pop_back();
      for (const llvm::User* user : value->users()) {
        auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
        if (!instruction) continue;
        if (instruction->isTerminator() && instruction->getNumSuccessors() > 1) {
          part_at(*const_cast<llvm::Instruction*>(instruction));
        } else {
          mark(instruction);
        }
      }
    }
  }

  std::set<const llvm::Value*> divergent;
  std::vector<Uniformity::Parting> partings;

 private:
  void part_at(llvm::Instruction& branch) {
    llvm::BasicBlock* block = branch.getParent();
    if (!parted_.insert(block).second) return;
    llvm::DomTreeNode* node = joins_.getNode(block);
    llvm::BasicBlock* join = node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
    partings.push_back({&branch, join});
    std::set<llvm::BasicBlock*> ways;
    if (!leaves(block, ways)) {
      ways = ways_from(*block, join);
      // Who gives way to others goes on when it can: they do not meet where the ways do.
      if (llvm::any_of(ways, [](llvm::BasicBlock* way) { return has(*way, is_yield); })) join = nullptr;
      if (!join) ways = ways_from(*block, nullptr);
      if (join) mark_phis(*join);
    }
    for (llvm::BasicBlock* way : ways) {
      mark_phis(*way);
      // Work-items may be round a loop a different number of times.
      for (llvm::Instruction& instruction : *way) {
        for (llvm::User* user : instruction.users()) {
          if (!ways.count(llvm::cast<llvm::Instruction>(user)->getParent())) mark(&instruction);
        }
      }
    }
  }

  static std::set<llvm::BasicBlock*> ways_from(llvm::BasicBlock& block, llvm::BasicBlock* join) {
    std::set<llvm::BasicBlock*> ways;
    for (llvm::BasicBlock* next : llvm::successors(&block)) ways.merge(reachable_blocks(next, join));
    return ways;
  }

  // One way out only ends, without meeting anybody again: those who take the other stay together.
  bool leaves(llvm::BasicBlock* block, std::set<llvm::BasicBlock*>& ways) {
    if (std::distance(llvm::succ_begin(block), llvm::succ_end(block)) != 2) return false;
    for (llvm::BasicBlock* next : llvm::successors(block)) {
      std::set<llvm::BasicBlock*> blocks = reachable_blocks(next, nullptr);
      bool ends = !blocks.count(block) && llvm::none_of(blocks, [](llvm::BasicBlock* b) { return has(*b, is_place); });
      // If both do, the shorter: `if (i < n) { … }` around all there is.
      if (ends && (ways.empty() || blocks.size() < ways.size())) ways = std::move(blocks);
    }
    return !ways.empty();
  }

  void mark_phis(llvm::BasicBlock& block) {
    for (llvm::PHINode& phi : block.phis()) mark(&phi);
  }

  llvm::PostDominatorTree joins_;
  std::set<llvm::BasicBlock*> parted_;
  std::vector<const llvm::Value*> work_;
};

}  // namespace

void mark_uniform(llvm::Instruction& value) { value.setMetadata(kUniform, llvm::MDNode::get(value.getContext(), {})); }

Uniformity::Uniformity(llvm::Function& function, Of of) {
  Spread spread(function);
  for (llvm::Argument& argument : function.args()) {
    bool is_id = argument.getArgNo() >= 1 && argument.getArgNo() <= 3;
    if (of == Of::kFunction || (of == Of::kItem && is_id)) spread.mark(&argument);
  }
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (is_source(instruction)) spread.mark(&instruction);
  }
  spread.run();
  divergent_ = std::move(spread.divergent);
  partings_ = std::move(spread.partings);
}

}  // namespace mneme::codegen::host
