// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::inject {

// To be called when everything else is done with a module: what memory may point to of what the kernels embedded in it
// know can be looked up in the code from now on, also where it was the unit's own. Throws Error.
//
// Where functions are whose address is taken: a module for AMD's GPUs gets variables that hold their addresses, and
// says so (objects::kExposedSymbol). One for NVIDIA's carries (cuda/carried.h) their names to what stands for ptxas,
// which finds out where the assembler places them (cuda/function_places.h). Where there is but one kernel an empty one
// is added, since the assembler then has another kind of address, the place in that kernel's code, which no other code
// for it would share.
//
// Of relocatable code the kernels are not known yet. A unit for NVIDIA's GPUs gets such variables for all functions
// whose address it takes, which the loader fills, and its constants that have names of their own (own_names.h) are
// exported. In one for AMD's, names of what is a unit's own do not say which one is meant.
void expose_pointed(llvm::Module& module, bool is_relocatable);

}  // namespace mneme::inject
