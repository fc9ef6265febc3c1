// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The check "nan": operations that make a NaN or an infinity.
//
//   %r = fdiv float %a, %b     ──▶     %r = fdiv float %a, %b
//                                      if (%r is a NaN or an infinity) service.found_number("/", 2, %r, %a, %b, 0,
//                                      site)
//
// The detector (device/host/checks) leaves out those of operands that are none themselves. Inlined, a function of
// mathematics is many operations, of which some make infinities on purpose: what is looked at is its result, so the
// calls are made before. Where they are in the source is known after: of what headers compute, by their callers.
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

// Comes before functions are inlined. Promises that there are no such numbers are taken back.
void check_numbers(llvm::Module& module);

// Gives the calls their places; after that.
void place_number_checks(llvm::Module& module);

}  // namespace mneme::codegen::host
