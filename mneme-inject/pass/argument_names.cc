// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pass/argument_names.h"

#include <llvm/IR/IntrinsicInst.h>

#include "pass/kernel_functions.h"

namespace mneme::inject {
namespace {

// What clang passes otherwise than the source has it is called "x.coerce"; and the argument has no name where a
// structure is copied from it into what has.
std::string name_in_source(const llvm::Argument& argument) {
  llvm::StringRef name = argument.getName();
  for (const llvm::User* user : argument.users()) {
    const auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(user);
    if (name.empty() && copy && copy->getRawSource() == &argument) name = copy->getRawDest()->getName();
  }
  name.consume_back(".coerce");
  return name.contains('.') ? "" : name.str();
}

void drop_names(llvm::Function& function) {
  for (llvm::Argument& argument : function.args()) argument.setName("");
  for (llvm::BasicBlock& block : function) {
    block.setName("");
    for (llvm::Instruction& instruction : block) {
      if (instruction.hasName()) instruction.setName("");
    }
  }
}

}  // namespace

ArgumentNames take_names(llvm::Module& module) {
  ArgumentNames names;
  if (module.getContext().shouldDiscardValueNames()) return names;
  const KernelFunctions kernels = kernels_in(module);
  for (llvm::Function& function : module) {
    if (kernels.contains(&function) && !function.isDeclaration()) {
      std::vector<std::string>& of_kernel = names[function.getName().str()];
      for (const llvm::Argument& argument : function.args()) of_kernel.push_back(name_in_source(argument));
    }
    drop_names(function);
  }
  module.getContext().setDiscardValueNames(true);
  return names;
}

}  // namespace mneme::inject
