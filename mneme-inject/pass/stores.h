// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include <optional>
#include <vector>

#include "bundle/format.h"

namespace mneme::inject {

// What the kernel stores where, which chooses the tolerance that its results are judged by. nullopt: its IR has
// something that only the host device's compiler knows (assembly, the vendor's functions for printf and the heap, a
// call through a pointer), which looks again then. `info` has the arguments.
std::optional<std::vector<bundle::StoreType>> stores_of(const llvm::Module& closure, const llvm::Module& simplified,
                                                        const bundle::KernelInfo& info);

}  // namespace mneme::inject
