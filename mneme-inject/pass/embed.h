// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "bundle/format.h"

namespace mneme::inject {

// Whether `module` already carries the record of the kernel `name`.
bool has_embedded(const llvm::Module& module, llvm::StringRef name);

// Adds `record` (objects/embedded.h) to the module so that it reaches the code object's section for embedded IR
// whatever the optimiser and the linker think of it.
void embed(llvm::Module& module, llvm::StringRef name, const std::string& record);

// Likewise the record of a source (objects/source.h).
void embed_source(llvm::Module& module, const std::string& record);

// What is known of the kernels that were embedded in a module.
std::vector<bundle::KernelInfo> embedded_kernels(const llvm::Module& module);

}  // namespace mneme::inject
