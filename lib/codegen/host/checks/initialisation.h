// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --check init: values that are computed from bytes that nobody wrote.
//
//   %v = load i32, %p               %v = load i32, %p
//   %w = add i32 %v, 1       ──▶    %r = …                          ; 0, or the number of a read of unwritten bytes:
//   store i32 %w, %q                                                 ; service.unwritten_read(%p, 4, site)
//                                   %w = add i32 %v, 1
//                                   if (%r) service.unwritten_use(%r | computed, kStoresResult, %q, site)
//                                   … the shadow of %q says whether it is written, with %r = 0, or not
//                                   store i32 %w, %q
//
// Each byte of shared memory and of the device's allocations has a shadow (WrittenMemory, abi.h); local variables have
// one of their own (shadow_locals.h). A value that was loaded has with it the number of its read, and so has what is
// made of it:
//
//   copies     casts, shuffles of vectors and of lanes, masks, shifts, selections, addresses: of the same bytes
//   results    all other operations: they are marked as computed
//
// A finding is a branch, an address, an atomic operation, and a store of a result to memory other than the block's own.
// A mere copy is none: a structure is copied with its padding. Of a word of which some bytes were written, those are
// looked at that a mask, a shift or a truncation leaves.
//
// With --check sync a lane that a shuffle reads and that does not take part is such a read, too: what comes of it is a
// result of nobody's.
//
// Relies on local variables being values, and comes before atomic operations become others.
#pragma once
#include <llvm/IR/Module.h>

#include <string>

namespace mneme::codegen::host {

// `checks`: of TrackedChecks (abi.h), kCheckInit for reads of memory, and kCheckSync for reads of lanes.
void check_initialisation(llvm::Module& module, const std::string& kernel, uint32_t checks);

}  // namespace mneme::codegen::host
