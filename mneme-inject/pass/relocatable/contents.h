// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Relocatable AMD device code is IR until it is linked, and tools may change it on the way: opt, an editor, llvm-link.
// So a unit notes what its functions and variables are when it has been compiled.
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::inject {

// When a unit has been optimised.
void note_contents(llvm::Module& unit);

// When units have been linked as IR: whether there is a function or variable in `program` that no unit has noted; false
// where none has noted any, as earlier versions did not.
bool has_other_contents(const llvm::Module& program);

}  // namespace mneme::inject
