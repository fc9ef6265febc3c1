// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/llvm_option.h"

#include <llvm/Support/CommandLine.h>

namespace mneme::ir {

void set_llvm_option(const char* name, const char* value) {
  auto& options = llvm::cl::getRegisteredOptions();
  auto found = options.find(name);
  if (found == options.end()) return;
  found->second->reset();
  found->second->addOccurrence(0, name, value);
}

}  // namespace mneme::ir
