// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::inject {

// To be called when everything else is done with a module for NVIDIA's GPUs: carries (cuda/carried.h) the names of the
// functions whose address is taken to what stands for ptxas, which finds out where the assembler places them
// (cuda/function_places.h). Tables of virtual functions that are the unit's own can be found by their names from now
// on. Where there is but one kernel an empty one is added, since the assembler then has another kind of address, the
// place in that kernel's code, which no other code for it would share.
void carry_pointed_functions(llvm::Module& module);

// The same of a module for AMD's GPUs: adds variables that hold the functions' addresses, exports what memory may point
// to of what the kernels embedded in it know, and says so (objects::kExposedSymbol). Throws Error.
void expose_pointed(llvm::Module& module);

}  // namespace mneme::inject
