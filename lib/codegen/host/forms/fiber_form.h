// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fiber form: each work-item of a block runs on a stack of its own, and calls a service where it comes to a
// collective (Services in abi.h); the caller then switches to another.
//
//   call void @mneme.barrier()   ──▶   call i64 @mneme.service.meet(i32 kMeetBlock, i32 1, …)
//
// Slow, but a collective may be anywhere, and little can go wrong. Relies on order_places (places.h) for the number of
// each collective.
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
