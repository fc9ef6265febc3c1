// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

// A GPU has no instruction that divides integers, and so none that traps: dividing by zero gives some number, and the
// least number divided by -1 is itself. Here the first gives all ones, with the dividend as the remainder, and the
// second wraps; with `report` dividing by zero ends the launch instead.
//
//   %q = udiv i32 %a, %b   ──▶   %z = icmp eq i32 %b, 0
//                                %q = select i1 %z, i32 -1, i32 udiv(%a, select(%z, 1, %b))
//
// Relies on running ahead of all that folds a division by zero to poison.
void guard_divisions(llvm::Module& module, bool report);

}  // namespace mneme::codegen::host
