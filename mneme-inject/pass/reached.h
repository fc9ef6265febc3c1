// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include <vector>

namespace mneme::inject {

// What a kernel uses of its module, transitively. Where something of it calls through a pointer, that includes every
// function of the call's type whose address is taken anywhere in the module, and the variables by which the host may
// come by those addresses: another kernel, or the host, may have put one where the call finds it.
class Reached {
 public:
  explicit Reached(const llvm::Function& kernel);

  bool contains(const llvm::Constant* constant) const { return seen_.contains(constant); }
  // What is here because of calls through pointers: functions and variables, in the module's order.
  std::vector<const llvm::GlobalObject*> by_pointer() const;

 private:
  void visit(const llvm::Value* value);
  void follow();
  void note_call(const llvm::Instruction& instruction);
  void add_callable(const llvm::Module& unit);
  void add_variables(const llvm::Module& unit);

  llvm::DenseSet<const llvm::Constant*> seen_;
  llvm::SmallVector<const llvm::Constant*, 64> pending_;
  llvm::SmallVector<llvm::FunctionType*, 8> call_types_;  // of calls through pointers
  std::vector<const llvm::Function*> callable_;
  std::vector<const llvm::GlobalVariable*> holders_;
};

}  // namespace mneme::inject
