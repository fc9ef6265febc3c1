// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Function.h>

#include <string>

#include "pass/argument_names.h"

namespace mneme::inject {

// What is embedded for a kernel (objects/embedded.h): its closure, and what there is to know of it.
std::string record_of(const llvm::Function& kernel, const ArgumentNames& names = {});

}  // namespace mneme::inject
