// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

// What a vendor's instructions make of a shift by as many bits as a number has, or more.
enum class Overshift {
  kWraps,   // AMD's look at the amount's last bits only
  kClamps,  // NVIDIA's: nothing is left but, of a signed number shifted right, its sign
};

// LLVM leaves such a shift undefined, and each level makes another thing of it. Here it is what it is on the GPU:
//
//   kWraps:  shl i32 %a, %n   ──▶   shl i32 %a, (and %n, 31)
//   kClamps: shl i32 %a, %n   ──▶   select (icmp ult %n, 32), shl i32 %a, %n, 0
//
// A shift whose amount is known to be small enough stays. Relies on running ahead of all that folds a shift to poison.
void guard_shifts(llvm::Module& module, Overshift overshift);

}  // namespace mneme::codegen::host
