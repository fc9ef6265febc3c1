// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include <vector>

#include "bundle/format.h"

namespace mneme::inject {

// Where the pointers lie through which a kernel accesses memory, as far as its IR tells: what it does not follow is the
// host's own business, a structure's pointer to the host's copy, say. One that lies nowhere
// stands for all that come out of functions that are not known, or are made of bits.
std::vector<bundle::Pointer> pointers_followed(const llvm::Module& closure, llvm::StringRef kernel,
                                               const std::vector<bundle::Argument>& arguments);

}  // namespace mneme::inject
