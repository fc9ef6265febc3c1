// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include <array>

#include "bundle/format.h"

namespace mneme::codegen::host {

// Inlines what can be inlined into the kernel: a barrier suspends only the function it stands in, and
// queries are answered where the work-item is known. Functions that are recursive or called through
// pointers stay.
void inline_into_kernel(llvm::Module& module);

// A work-item that ends in the middle of the kernel returns there. Throws Error for one that ends in a function that
// could not be inlined.
void return_at_ends(llvm::Module& module, const bundle::KernelInfo& kernel);

// Brings the kernel's local variables into registers, so that what is private to a work-item can be
// told from memory.
void promote_locals(llvm::Module& module);

// Atomics on shared memory: one CPU thread runs the whole block, so ordinary loads and stores do, as long as
// work-items take their turns at them (is_item_ordered).
void relax_shared_atomics(llvm::Module& module);

// blockIdx * blockDim + threadIdx stays below 2^31 (run_grid refuses larger grids), so it wraps neither way;
// knowing that, LLVM can tell that neighbouring threads touch neighbouring elements.
// The same goes for blockIdx * 256 + threadIdx. Returns the largest such constant of each dimension, which whoever
// launches is to check the grid against (CodeObject::block_strides).
std::array<uint32_t, 3> mark_global_ids(llvm::Module& module);

// Whether the kernel's result may depend on the order of its blocks: atomics on memory whose old value is
// used, or that do not commute bit for bit.
bool depends_on_order(const llvm::Module& module);

}  // namespace mneme::codegen::host
