// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Function.h>

#include <set>
#include <vector>

namespace mneme::codegen::host {

// Which values are uniform, the same for all work-items of a block that get somewhere, and which branches are
// divergent. Errs towards "divergent". Describes the function as it was when this was made.
//
//   if (threadIdx.x < n) x = 1; else x = 2;     the branch is divergent; behind it, so is x
//   if (n < 8) return;                          the branch is uniform
//   if (threadIdx.x < n) return;                the branch is divergent; those behind it are all there are
//
// LLVM's UniformityAnalysis does not serve: it takes lanes that are in a loop to be in the same iteration, and to
// reconverge where the sides of a branch join. Here each runs by itself from one collective to the next, and one that
// yields goes on alone.
class Uniformity {
 public:
  // The function's kind: the kernel, whose arguments are uniform; another function; or the work-item function
  // (lower.h), whose arguments are the ids.
  enum class Of { kKernel, kFunction, kItem };
  explicit Uniformity(llvm::Function& function, Of of = Of::kItem);

  bool is_uniform(const llvm::Value& value) const { return !divergent_.count(&value); }

  // A branch at which work-items may take different ways, and the block where these all reconverge: null if they do
  // not.
  struct DivergentBranch {
    llvm::Instruction* branch;  // blocks may be split meanwhile
    llvm::BasicBlock* reconvergence;
    llvm::BasicBlock* fork() const { return branch->getParent(); }
    // Blocks between the two: some work-items may be there, others not.
    std::set<llvm::BasicBlock*> sides() const;
  };
  const std::vector<DivergentBranch>& divergent_branches() const { return branches_; }
  bool is_divergent_branch(const llvm::BasicBlock& fork) const;

 private:
  std::set<const llvm::Value*> divergent_;
  std::vector<DivergentBranch> branches_;
};

// A value that is read from where it differs by work-item, yet is the same for all.
void mark_uniform(llvm::Instruction& value);

}  // namespace mneme::codegen::host
