// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/llvm_option.h"

#include <llvm/Support/CommandLine.h>

namespace mneme::ir {

void enable_llvm_option(const char* name) {
  auto& options = llvm::cl::getRegisteredOptions();
  auto found = options.find(name);
  if (found != options.end()) static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(true);
}

}  // namespace mneme::ir
