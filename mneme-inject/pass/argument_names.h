// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include <map>
#include <string>
#include <vector>

namespace mneme::inject {

// Of each kernel, what its arguments are called in the source: mneme-inject has clang say so
// (-fno-discard-value-names). Empty where there is no name.
using ArgumentNames = std::map<std::string, std::vector<std::string>>;

// Takes them out of the module, with all other names of values: what is made of it then, and what is embedded, is as
// from a clang that gave it none.
ArgumentNames take_names(llvm::Module& module);

}  // namespace mneme::inject
