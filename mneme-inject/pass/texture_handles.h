// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include <vector>

#include "bundle/format.h"

namespace mneme::inject {

// Whether anything in the module, which is NVPTX's, reads, writes or asks about textures or surfaces.
bool uses_textures(const llvm::Module& module);

// Where the handles lie that a kernel uses so, by offset: at most one that comes from elsewhere than the arguments.
std::vector<bundle::Handle> handles_used(const llvm::Module& simplified, llvm::StringRef kernel,
                                         const std::vector<bundle::Argument>& arguments);

}  // namespace mneme::inject
