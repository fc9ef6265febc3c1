// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/ADT/StringSet.h>
#include <llvm/IR/Module.h>

namespace mneme::inject {

// The names of the constants whose addresses, or addresses that they hold, the module's code may put into memory that
// others see: texts, and tables that it has to itself. Rather too many than too few; but functions that are not known
// are taken to keep none, as those that print do not.
llvm::StringSet<> constants_in_memory(const llvm::Module& module);

}  // namespace mneme::inject
