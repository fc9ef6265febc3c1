// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Relocatable code for NVIDIA's GPUs: names of what a translation unit has to itself, and memory may point to.
#pragma once
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Module.h>

namespace mneme::inject {

// Local functions whose address is taken, and local constants that are not just read where they are used, get names
// that no other unit has: NAME__static__HASH, of the unit's code. So they keep their names when units are linked, in
// the IR and in the device code alike. What stays local otherwise, as the tables of the device library do, keeps its
// name: it is part of the hash of each kernel that uses it.
void name_what_is_its_own(llvm::Module& unit);

// Whether it is such a constant.
bool has_own_name(const llvm::GlobalVariable& variable);

}  // namespace mneme::inject
