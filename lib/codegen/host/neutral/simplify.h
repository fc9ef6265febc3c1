// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include <array>

#include "bundle/format.h"

namespace mneme::codegen::host {

// Inlines what can be inlined into the kernel: a barrier suspends only the function it stands in, and queries are
// answered where the work-item is known.
//
//   kernel { a(); }  a() { barrier }   ──▶   kernel { barrier }
//
// Recursive functions stay. Where all of it would be very large, so do large functions without collectives, atomic or
// volatile accesses. Relies on lower_indirect_calls: all calls are direct.
void inline_into_kernel(llvm::Module& module);

// A work-item that ends in the middle of the kernel returns there.
//
//   call void @mneme.end()   ──▶   ret void
//
// Relies on inline_into_kernel. Throws Error for one that ends in a function that could not be inlined.
void return_at_ends(llvm::Module& module, const bundle::KernelInfo& kernel);

// Brings local variables into registers, which separates a work-item's own values from memory.
//
//   %a = alloca i32; store i32 %v, ptr %a; load i32, ptr %a   ──▶   %v
//
// Relies on the passes that define what LLVM leaves undefined: it folds what they guard.
void promote_locals(llvm::Module& module);

// Atomics on shared memory become ordinary loads and stores, since one CPU thread runs the whole block. Work-items take
// their turns at them: they are marked (neutral.h: mark_item_ordered).
//
//   atomicrmw add ptr @shared, i32 1   ──▶   %o = load i32, ptr @shared; store i32 %o + 1, ptr @shared
//
// Relies on everything being inlined, so that a pointer leads to its variable; and on lanes having been kept in step,
// which takes atomics for what they are.
void relax_shared_atomics(llvm::Module& module);

// blockIdx * blockDim + threadIdx stays below 2^31 (run_grid refuses larger grids), so it does not overflow; knowing
// that, LLVM sees that neighbouring threads touch neighbouring elements. The same goes for blockIdx * 256 + threadIdx.
//
//   add i32 (mul i32 %group, %size), %local   ──▶   add nuw nsw i32 (mul nuw nsw i32 %group, %size), %local
//
// Returns the largest such constant of each dimension. A launch checks its grid against them
// (CodeObject::block_strides).
std::array<uint32_t, 3> mark_global_ids(llvm::Module& module);

// Whether the kernel's result may depend on the order of its blocks: atomics on memory whose old value is
// used, or that do not commute bit for bit.
bool depends_on_order(const llvm::Module& module);

}  // namespace mneme::codegen::host
