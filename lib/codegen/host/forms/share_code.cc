// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/forms/share_code.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>

#include <map>
#include <set>
#include <vector>

#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

using Blocks = std::set<llvm::BasicBlock*>;

bool ends_region(const Operation& operation) {
  return is_convergence_point(operation) || is_step(operation) || is_joint(operation);
}

class Copies {
 public:
  explicit Copies(llvm::Function& item) {
    for (auto& [call, operation] : operations_in(item)) {
      if (ends_region(operation)) last_[call->getParent()] = call;
    }
    count(reached(item.getEntryBlock()));
    for (auto& [block, point] : last_) {
      Blocks blocks;
      for (llvm::BasicBlock* next : llvm::successors(block)) blocks.merge(reached(*next));
      count(blocks);
    }
  }

  // What a region of its own from here on would save, in instructions.
  size_t saved_at(llvm::BasicBlock& block) {
    auto found = copies_.find(&block);
    if (found == copies_.end() || found->second < 2 || !llvm::hasNItemsOrMore(llvm::predecessors(&block), 2)) return 0;
    size_t size = 0;
    for (llvm::BasicBlock* each : reached(block)) size += last_.count(each) ? 0 : each->size();
    return size * (found->second - 1);
  }

 private:
  // Up to the blocks with the next convergence points.
  Blocks reached(llvm::BasicBlock& start) {
    Blocks found = {&start};
    std::vector<llvm::BasicBlock*> work = {&start};
    while (!work.empty()) {
      llvm::BasicBlock* block = work.back();
      work.pop_back();
      if (last_.count(block)) continue;
      for (llvm::BasicBlock* next : llvm::successors(block)) {
        if (found.insert(next).second) work.push_back(next);
      }
    }
    return found;
  }

  void count(const Blocks& blocks) {
    for (llvm::BasicBlock* block : blocks) ++copies_[block];
  }

  llvm::MapVector<llvm::BasicBlock*, llvm::CallInst*> last_;  // of a block's convergence points
  std::map<llvm::BasicBlock*, size_t> copies_;                // regions that have one
};

// Whether it can make a difference in which order work-items come to something.
bool depends_on_order(llvm::Function& item) {
  return llvm::any_of(llvm::instructions(item), [](llvm::Instruction& instruction) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
    if (callee) {
      std::optional<Operation> operation = operation_of(*callee);
      return operation && operation->kind == OperationKind::kService;
    }
    return instruction.isAtomic() || instruction.isVolatile() || is_item_ordered(instruction);
  });
}

}  // namespace

void share_code(llvm::Function& item) {
  // Instructions; a region costs some itself. Where code is shared, all work-items come that far before one goes on,
  // and how much there is to share depends on how it was optimised: so as not to have another order then, only what
  // would take long to compile is shared where that matters.
  const size_t least = depends_on_order(item) ? 1000 : 200;
  for (;;) {
    Copies copies(item);
    llvm::BasicBlock* best = nullptr;
    size_t most = least;
    for (llvm::BasicBlock& block : item) {
      size_t saved = copies.saved_at(block);
      if (saved > most) best = &block, most = saved;
    }
    if (!best) return;
    llvm::IRBuilder<> builder(&*best->getFirstInsertionPt());
    call_joint(builder);
  }
}

}  // namespace mneme::codegen::host
