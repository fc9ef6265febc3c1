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
  if (operation && operation->kind == OperationKind::kWaveMemory) return true;
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
          diverge_at(*const_cast<llvm::BasicBlock*>(instruction->getParent()));
        } else {
          mark(instruction);
        }
      }
    }
  }

  std::set<const llvm::Value*> divergent;
  std::vector<Uniformity::DivergentBranch> branches;

 private:
  void diverge_at(llvm::BasicBlock& fork) {
    if (!forks_.insert(&fork).second) return;
    llvm::DomTreeNode* node = joins_.getNode(&fork);
    llvm::BasicBlock* join = node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
    branches.push_back({fork.getTerminator(), join});
    std::set<llvm::BasicBlock*> blocks =
        ending_side(fork, [](llvm::BasicBlock* block) { return has(*block, is_convergence_point); });
    if (!blocks.empty()) mark_counters(fork, blocks);
    if (blocks.empty()) {
      blocks = branches.back().sides();
      // Who gives way to others goes on when it can: they do not meet where the ways do.
      if (llvm::any_of(blocks, [](llvm::BasicBlock* block) { return has(*block, is_yield); })) join = nullptr;
      if (!join) blocks = Uniformity::DivergentBranch{fork.getTerminator(), nullptr}.sides();
      if (join) mark_phis(*join);
    }
    for (llvm::BasicBlock* block : blocks) {
      mark_phis(*block);
      // Work-items may be round a loop a different number of times.
      for (llvm::Instruction& instruction : *block) {
        for (llvm::User* user : instruction.users()) {
          if (!blocks.count(llvm::cast<llvm::Instruction>(user)->getParent())) mark(&instruction);
        }
      }
    }
  }

  // Those that end leave a loop in different iterations: of what is computed in it each has its own.
  void mark_counters(llvm::BasicBlock& fork, const std::set<llvm::BasicBlock*>& ending) {
    std::set<llvm::BasicBlock*> behind = Uniformity::DivergentBranch{fork.getTerminator(), nullptr}.sides();
    if (!behind.count(&fork)) return;  // in no loop
    for (llvm::BasicBlock* block : ending) {
      for (llvm::Instruction& user : *block) {
        for (llvm::Value* operand : user.operands()) {
          auto* value = llvm::dyn_cast<llvm::Instruction>(operand);
          if (value && behind.count(value->getParent()) && !ending.count(value->getParent())) mark(value);
        }
      }
    }
  }

  void mark_phis(llvm::BasicBlock& block) {
    for (llvm::PHINode& phi : block.phis()) mark(&phi);
  }

  llvm::PostDominatorTree joins_;
  std::set<llvm::BasicBlock*> forks_;
  std::vector<const llvm::Value*> work_;
};

}  // namespace

std::set<llvm::BasicBlock*> Uniformity::DivergentBranch::sides() const {
  std::set<llvm::BasicBlock*> blocks;
  for (llvm::BasicBlock* next : llvm::successors(fork())) blocks.merge(reachable_blocks(next, reconvergence));
  return blocks;
}

bool Uniformity::is_divergent_branch(const llvm::BasicBlock& fork) const {
  return llvm::any_of(branches_, [&](const DivergentBranch& branch) { return branch.fork() == &fork; });
}

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
  branches_ = std::move(spread.branches);
}

}  // namespace mneme::codegen::host
