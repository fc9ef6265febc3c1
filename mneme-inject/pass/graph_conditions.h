// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::inject {

// Has kernels set conditions of graphs by either kind of handle (objects/graph_condition.h).
void take_own_conditions(llvm::Module& module);

}  // namespace mneme::inject
