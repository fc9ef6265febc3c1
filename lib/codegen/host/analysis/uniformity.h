// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Function.h>

#include <set>
#include <vector>

namespace mneme::codegen::host {

// What all work-items of a block that get somewhere have in common, and where they part. Errs towards "not in
// common". Describes the function as it was when this was made.
class Uniformity {
 public:
  // What the function is: the kernel, whose arguments all have in common; another function; or the work-item function
  // (lower.h), whose arguments are the ids.
  enum class Of { kKernel, kFunction, kItem };
  explicit Uniformity(llvm::Function& function, Of of = Of::kItem);

  bool is_uniform(const llvm::Value& value) const { return !divergent_.count(&value); }

  // A branch at which work-items may take different ways, and the block where these all meet again, null if
  // they do not.
  struct Parting {
    llvm::Instruction* branch;
    llvm::BasicBlock* join;
  };
  const std::vector<Parting>& partings() const { return partings_; }

 private:
  std::set<const llvm::Value*> divergent_;
  std::vector<Parting> partings_;
};

// A value that is read from where it differs by work-item, yet is the same for all.
void mark_uniform(llvm::Instruction& value);

}  // namespace mneme::codegen::host
