// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include <string>

#include "bundle/format.h"

namespace mneme::inject {

// What the recorder and the other tools need to know of the kernel `name`, from its closure and the closure's
// bitcode. `source` is the path of the file that is being compiled.
bundle::KernelInfo describe(const llvm::Module& closure, llvm::StringRef name, const std::string& bitcode,
                            llvm::StringRef source);

}  // namespace mneme::inject
