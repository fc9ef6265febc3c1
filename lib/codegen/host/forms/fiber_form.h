// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fiber form: each work-item of a block runs on a stack of its own, and calls a service where it comes to a
// collective (Services in abi.h); the caller then switches to another.
//
//   call void @mneme.barrier()   ──▶   call i64 @mneme.service.converge(i32 kBlockBarrier, i32 1, …)
//
// Slow, but a collective may be anywhere, and little can go wrong. Relies on order_convergence_points
// (convergence.h) for the number of each.
#pragma once
#include <llvm/IR/Module.h>

#include "bundle/format.h"
#include "codegen/host/forms/lower.h"

namespace mneme::codegen::host {

// A function that could not be inlined into the kernel and has convergence points: then it is the only form. Null:
// none.
const llvm::Function* function_for_fibers(llvm::Module& module, const bundle::KernelInfo& kernel);

// Calls services at all convergence points and around calls of functions with such. Relies on all calls being direct.
// Comes before lower_services().
void lower_convergence_points(llvm::Module& module);

// `void mneme.run_block(ptr context)` out of the item, in which no convergence point is left.
BlockCode make_fiber_form(llvm::Module& module, llvm::Function& item, uint32_t wave_size);

}  // namespace mneme::codegen::host
