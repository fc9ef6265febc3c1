// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a configuration says of a kernel beside its pipeline, done to its IR, in either vendor's dialect.
#pragma once
#include <llvm/IR/Module.h>

#include "bundle/format.h"

namespace mneme::codegen {

// Launch bounds in place of those that the IR has. A bound that is 0 stays.
void set_launch_bounds(llvm::Function& kernel, uint32_t max_threads, uint32_t min_blocks);

// The kernel is launched with no other grid and block: an NVIDIA GPU's driver holds to that. For GPUs.
void fix_dimensions(llvm::Function& kernel, const bundle::Dim3& grid, const bundle::Dim3& block);

// The arguments that are named (choices.h) become the constants that the launch's argument bytes hold.
void fix_arguments(llvm::Function& kernel, const bundle::KernelInfo& info, const std::string& arguments,
                   const std::string& bytes);

// Adds flags to all floating-point operations, and attributes to a function; texts as choices.h has them.
void add_fast_math(llvm::Module& module, const std::string& flags);
void add_attributes(llvm::Function& function, const std::string& attributes);

}  // namespace mneme::codegen
