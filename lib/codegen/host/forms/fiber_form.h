// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fiber form: a block's work-items each run on a stack of their own, and say so to whoever runs the block when they
// come to a place where they meet (Services in abi.h). Slow, but such a place may be anywhere, and little can go wrong.
#pragma once
#include <llvm/IR/Module.h>

#include "bundle/format.h"
#include "codegen/host/forms/lower.h"

namespace mneme::codegen::host {

// Whether work-items meet in functions that could not be inlined into the kernel: then it is the only form.
bool needs_fibers(llvm::Module& module, const bundle::KernelInfo& kernel);

// Calls services at all places where work-items meet and around calls of functions with such places. Comes before
// lower_services().
void lower_places(llvm::Module& module);

// `void mneme.run_block(ptr context)` out of the item, in which no places are left.
BlockCode make_fiber_form(llvm::Module& module, llvm::Function& item, uint32_t wave_size);

}  // namespace mneme::codegen::host
