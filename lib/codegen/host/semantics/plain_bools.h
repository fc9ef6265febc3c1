// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

// A bool in memory is its byte's lowest bit, as in AMD's unoptimised code, also where the byte is neither 0 nor 1:
// programs set arrays of bools with hipMemset(…, 0xFF, …). The front end promises that this does not happen, and passes
// that believe it make other numbers of such a bool in every kernel.
//
//   %b = load i8, ptr %p, !range [0, 2)   ──▶   %b = load i8, ptr %p
//
// Relies on running ahead of all that believes the promise.
void take_bools_as_they_are(llvm::Module& module);

}  // namespace mneme::codegen::host
