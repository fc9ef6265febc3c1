// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/host/forms/step_loops.h"

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/InstructionSimplify.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/LoopRotationUtils.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include <vector>

#include "codegen/host/analysis/reachable.h"
#include "codegen/host/analysis/strides.h"
#include "codegen/host/analysis/uniformity.h"
#include "codegen/host/neutral/neutral.h"

namespace mneme::codegen::host {
namespace {

// What a loop does in one iteration, as far as it matters to whether its iterations are worth stepping through.
struct Work {
  int near = 0;        // accesses that are one vector's, or one element's, for neighbouring work-items
  int far = 0;         // others
  int arithmetic = 0;  // operations that differ by work-item, each by about what it costs
  bool possible = true;
};

int cost_of(const llvm::Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case llvm::Instruction::FDiv:
    case llvm::Instruction::FRem:
      return 8;
    case llvm::Instruction::Call:
      return 4;
    default:
      return llvm::isa<llvm::BinaryOperator, llvm::CmpInst, llvm::SelectInst>(instruction) ? 1 : 0;
  }
}

bool divides_integers(const llvm::Instruction& instruction) {
  auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
  return operation && operation->isIntDivRem() && !llvm::isa<llvm::Constant>(operation->getOperand(1));
}

class LoopChoice {
 public:
  explicit LoopChoice(llvm::Function& item)
      : uniformity_(item),
        strides_(item, uniformity_),
        dominators_(item),
        loops_(dominators_),
        assumptions_(item),
        library_(llvm::TargetLibraryInfoImpl(llvm::Triple(item.getParent()->getTargetTriple()))),
        library_info_(library_),
        evolution_(item, library_info_, assumptions_, dominators_, loops_) {
    // Where only some work-items may be.
    auto in_loop = [&](llvm::BasicBlock* block) { return loops_.getLoopFor(block) != nullptr; };
    for (const Uniformity::DivergentBranch& branch : uniformity_.divergent_branches()) {
      if (ending_side(*branch.fork(), in_loop).empty()) sides_.merge(branch.sides());
    }
  }

  // Rotates the loops that are worth it, so that each iteration ends with the question whether there is another.
  std::vector<llvm::Loop*> take() {
    std::vector<llvm::Loop*> chosen;
    for (llvm::Loop* loop : loops_.getLoopsInPreorder()) {
      if (loop->isInnermost() && is_uniform(*loop) && is_worth_it(*loop)) chosen.push_back(loop);
    }
    std::erase_if(chosen, [&](llvm::Loop* loop) { return !rotate(*loop); });
    return chosen;
  }

 private:
  bool is_uniform(const llvm::Loop& loop) {
    if (sides_.count(loop.getHeader()) || !loop.isLoopSimplifyForm()) return false;
    llvm::SmallVector<llvm::BasicBlock*, 4> exiting;
    loop.getExitingBlocks(exiting);
    return exiting.size() == 1 && !uniformity_.is_divergent_branch(*exiting.front());
  }

  bool is_worth_it(llvm::Loop& loop) {
    constexpr unsigned kMostBlocks = 8;
    if (loop.getNumBlocks() > kMostBlocks || is_unrolled(loop)) return false;
    Work work;
    for (llvm::BasicBlock* block : loop.blocks()) {
      if (!llvm::isa<llvm::BranchInst>(block->getTerminator())) return false;
      for (llvm::Instruction& instruction : *block) look_at(instruction, work);
    }
    int carried = 0;
    for (llvm::PHINode& phi : loop.getHeader()->phis()) carried += !uniformity_.is_uniform(phi);
    return work.possible && work.arithmetic >= 2 * carried && work.arithmetic + work.near >= 2 + 8 * work.far &&
           work.arithmetic > 0;
  }

  // LLVM unrolls what has few iterations, and what is carried then stays in registers.
  bool is_unrolled(llvm::Loop& loop) {
    constexpr unsigned kMostUnrolled = 300;  // instructions, at -O3
    unsigned count = evolution_.getSmallConstantMaxTripCount(&loop);
    if (!count || count > kMostUnrolled) return false;
    unsigned size = 0;
    for (llvm::BasicBlock* block : loop.blocks()) {
      for (llvm::Instruction& instruction : *block) {
        bool is_free = llvm::isa<llvm::PHINode, llvm::GetElementPtrInst, llvm::CastInst, llvm::BranchInst>(instruction);
        size += !is_free && !instruction.isDebugOrPseudoInst();
      }
    }
    return count * size <= kMostUnrolled;
  }

  void look_at(llvm::Instruction& instruction, Work& work) {
    if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
      auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(call);
      bool harmless = intrinsic && (intrinsic->isAssumeLikeIntrinsic() ||
                                    llvm::isTriviallyVectorizable(intrinsic->getIntrinsicID()));
      work.possible &= harmless;
    } else if (instruction.mayReadOrWriteMemory()) {
      look_at_access(instruction, work);
    }
    work.possible &= !divides_integers(instruction) && !llvm::isa<llvm::AllocaInst>(instruction);
    if (!uniformity_.is_uniform(instruction)) work.arithmetic += cost_of(instruction);
  }

  void look_at_access(llvm::Instruction& access, Work& work) {
    llvm::Value* pointer = llvm::getLoadStorePointerOperand(&access);
    work.possible &= pointer && !access.isAtomic() && !access.isVolatile() && !is_item_ordered(access);
    if (!work.possible) return;
    std::optional<int64_t> stride = strides_.of(pointer);
    llvm::TypeSize size = access.getDataLayout().getTypeStoreSize(llvm::getLoadStoreType(&access));
    bool next = stride == static_cast<int64_t>(size.getFixedValue());
    bool same = stride == 0 && llvm::isa<llvm::LoadInst>(access);
    ++(next || same ? work.near : work.far);
  }

  bool rotate(llvm::Loop& loop) {
    if (loop.isRotatedForm()) return true;
    constexpr unsigned kHeaderSize = 32;
    llvm::TargetTransformInfo costs(loop.getHeader()->getDataLayout());
    const llvm::SimplifyQuery query(loop.getHeader()->getDataLayout(), &library_info_, &dominators_, &assumptions_);
    llvm::LoopRotation(&loop, &loops_, &costs, &assumptions_, &dominators_, &evolution_, nullptr, query, false,
                       kHeaderSize, false);
    return loop.isRotatedForm() && loop.getUniqueExitBlock();
  }

  Uniformity uniformity_;
  Strides strides_;
  llvm::DominatorTree dominators_;
  llvm::LoopInfo loops_;
  llvm::AssumptionCache assumptions_;
  llvm::TargetLibraryInfoImpl library_;
  llvm::TargetLibraryInfo library_info_;
  llvm::ScalarEvolution evolution_;
  std::set<llvm::BasicBlock*> sides_;  // of divergent branches
};

void simplify_loops(llvm::Function& item) {
  llvm::DominatorTree dominators(item);
  llvm::LoopInfo loops(dominators);
  llvm::AssumptionCache assumptions(item);
  for (llvm::Loop* loop : loops) {
    llvm::simplifyLoop(loop, &dominators, &loops, nullptr, &assumptions, nullptr, false);
    llvm::formLCSSARecursively(*loop, dominators, &loops, nullptr);
  }
}

// Work-items may be at several convergence points of such code at once.
bool has_collectives_but_barriers(llvm::Function& item) {
  return llvm::any_of(operations_in(item), [](auto& found) {
    return is_convergence_point(found.second) && !is_block_collective(found.second);
  });
}

}  // namespace

void step_through_loops(llvm::Function& item) {
  if (has_collectives_but_barriers(item)) return;
  simplify_loops(item);
  LoopChoice choice(item);
  std::vector<llvm::Loop*> loops = choice.take();
  for (llvm::Loop* loop : loops) {
    for (llvm::BasicBlock* block : {loop->getHeader(), loop->getUniqueExitBlock()}) {
      llvm::IRBuilder<> builder(&*block->getFirstInsertionPt());
      call_step(builder);
    }
  }
}

}  // namespace mneme::codegen::host
