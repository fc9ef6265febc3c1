// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Local variables that --check init follows get a shadow: a variable of the same type whose bytes are all ones where
// the variable has been written, and zeros where nobody wrote.
//
//   %a = alloca [4 x i32]           %a = alloca [4 x i32]
//                                   %a.shadow = alloca [4 x i32]         ; define_locals fills it with zeros
//   store i32 %v, %p        ──▶     store i32 -1, %p.shadow
//                                   store i32 %v, %p
//   %w = load i32, %q               %w = load i32, %q
//                                   %s = load i32, %q.shadow
//                                   llvm.sideeffect() ["mneme.local"(i32 %w, i32 %s)]
//
// Promotion takes variable and shadow apart alike; what remains is an array that is indexed by values known at run time
// only. A copy from one local variable to another copies the shadow. A variable whose address is passed on has none:
// all of it counts as written.
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::codegen::host {

// Comes before define_locals(), with everything inlined that can be. check_initialisation() takes the marks away.
void shadow_locals(llvm::Module& module);

inline constexpr char kLocalMark[] = "mneme.local";  // an operand bundle: a value that was loaded, and its shadow

}  // namespace mneme::codegen::host
