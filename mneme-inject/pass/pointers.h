// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include <memory>
#include <vector>

#include "bundle/format.h"

namespace mneme::inject {

// Calls and local variables hide where addresses come from and go to, so what looks for that sees a copy without most
// of them.
std::unique_ptr<llvm::Module> simplified_copy(const llvm::Module& closure);

// Where the pointers lie through which a kernel accesses memory, as far as its IR tells: what it does not follow is the
// host's own business, a structure's pointer to the host's copy, say. One that lies nowhere
// stands for all that come out of functions that are not known, or are made of bits.
std::vector<bundle::Pointer> pointers_followed(const llvm::Module& simplified, llvm::StringRef kernel,
                                               const std::vector<bundle::Argument>& arguments);

}  // namespace mneme::inject
