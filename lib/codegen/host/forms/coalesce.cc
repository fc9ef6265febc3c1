// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/forms/coalesce.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/CFG.h>

#include <memory>

namespace mneme::codegen::host {
namespace {

// Where a value is wanted.
class Life {
 public:
  explicit Life(llvm::Instruction& value) : value_(value) {
    std::vector<llvm::BasicBlock*> work;
    auto enters = [&](llvm::BasicBlock* block) {
      if (block != value.getParent() && in_.insert(block).second) work.push_back(block);
    };
    for (llvm::Use& use : value.uses()) {
      auto* user = llvm::cast<llvm::Instruction>(use.getUser());
      auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
      if (phi) out_.insert(phi->getIncomingBlock(use));
      enters(phi ? phi->getIncomingBlock(use) : user->getParent());
    }
    while (!work.empty()) {
      llvm::BasicBlock* block = work.back();
      work.pop_back();
      for (llvm::BasicBlock* before : llvm::predecessors(block)) {
        out_.insert(before);
        enters(before);
      }
    }
  }

  // Whether the value is wanted after the other one has been made.
  bool reaches_beyond(const llvm::Instruction& other) const {
    llvm::BasicBlock* block = const_cast<llvm::BasicBlock*>(other.getParent());
    if (block == value_.getParent()) {
      // Phis are made all at once.
      bool both_phis = llvm::isa<llvm::PHINode>(value_) && llvm::isa<llvm::PHINode>(other);
      if (!both_phis && !value_.comesBefore(&other)) return false;
    } else if (!in_.count(block)) {
      return false;
    }
    return out_.count(block) || llvm::any_of(value_.users(), [&](const llvm::User* user) {
             auto* instruction = llvm::cast<llvm::Instruction>(user);
             return instruction->getParent() == block && !llvm::isa<llvm::PHINode>(instruction) &&
                    other.comesBefore(instruction);
           });
  }

 private:
  llvm::Instruction& value_;
  llvm::SmallPtrSet<llvm::BasicBlock*, 8> in_, out_;  // blocks at whose start, and end, it is wanted
};

struct Group {
  std::vector<llvm::Instruction*> members;
};

class Groups {
 public:
  explicit Groups(const std::vector<llvm::Instruction*>& values) {
    for (llvm::Instruction* value : values) {
      lives_.try_emplace(value, std::make_unique<Life>(*value));
      groups_.push_back(std::make_unique<Group>(Group{{value}}));
      group_of_[value] = groups_.back().get();
    }
  }

  bool has(llvm::Instruction* value) const { return group_of_.count(value) > 0; }

  void unite(llvm::Instruction* one, llvm::Instruction* other) {
    constexpr size_t kMostPairs = 4096;  // that are compared
    Group &first = *group_of_[one], &second = *group_of_[other];
    if (&first == &second || first.members.size() * second.members.size() > kMostPairs) return;
    for (llvm::Instruction* a : first.members) {
      for (llvm::Instruction* b : second.members) {
        if (lives_[a]->reaches_beyond(*b) || lives_[b]->reaches_beyond(*a)) return;
      }
    }
    for (llvm::Instruction* member : second.members) {
      first.members.push_back(member);
      group_of_[member] = &first;
    }
    second.members.clear();
  }

  std::vector<std::vector<llvm::Instruction*>> take() {
    std::vector<std::vector<llvm::Instruction*>> found;
    for (auto& group : groups_) {
      if (!group->members.empty()) found.push_back(std::move(group->members));
    }
    return found;
  }

 private:
  llvm::DenseMap<llvm::Instruction*, std::unique_ptr<Life>> lives_;
  llvm::DenseMap<llvm::Instruction*, Group*> group_of_;
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace

std::vector<std::vector<llvm::Instruction*>> coalesce(
    const std::vector<llvm::Instruction*>& values,
    llvm::function_ref<bool(llvm::Instruction&, llvm::Instruction&)> may) {
  Groups groups(values);
  for (llvm::Instruction* value : values) {
    auto* phi = llvm::dyn_cast<llvm::PHINode>(value);
    if (!phi) continue;
    for (llvm::Value* incoming : phi->incoming_values()) {
      auto* other = llvm::dyn_cast<llvm::Instruction>(incoming);
      if (other && groups.has(other) && may(*phi, *other)) groups.unite(phi, other);
    }
  }
  return groups.take();
}

}  // namespace mneme::codegen::host
