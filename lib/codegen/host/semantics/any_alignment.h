// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

// AMD's GPUs load and store at any address, whatever the type: a float4 at a multiple of 4. The front end promises the
// type's alignment, and a CPU's instructions for vectors rely on it:
//
//   %v = load <4 x float>, ptr %p, align 16   ──▶   %v = load <4 x float>, ptr %p, align 1
//
// Atomic operations keep theirs, as on the hardware; so does private memory, whose alignment is known.
void allow_any_alignment(llvm::Module& module);

}  // namespace mneme::codegen::host
