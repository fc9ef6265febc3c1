// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Function.h>

#include <string>
#include <vector>

#include "pass/argument_names.h"
#include "pass/compilation.h"

namespace mneme::inject {

// What a kernel's IR does not tell.
struct Told {
  ArgumentNames names;
  std::vector<std::string> own_passes;  // plugins of the application's own, whose passes it has gone through
  std::string lifted = {};              // from "ptx"; empty: the compiler gave it
  Compilations compilations = {};
};

// What is embedded for a kernel (objects/embedded.h): its closure, and what there is to know of it.
std::string record_of(const llvm::Function& kernel, const Told& told = {});

}  // namespace mneme::inject
