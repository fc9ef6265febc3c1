// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include "bundle/format.h"

namespace mneme::codegen::nvptx {

// Functions get the addresses that the recording's memory has for them (KernelInfo::function_addresses): places in the
// table that the assembler makes of functions whose address is taken, in the order in which it meets code that takes
// them, or uses a variable that holds them: first in external functions, as they are declared, then in others, then in
// kernels. So a first function, called by a kernel that nobody launches, takes them in the recorded order, with empty
// functions for those that this code lacks.
// The kernel's own code is left alone. The assembler uses a table only if there is a second kernel. An assembler may
// number functions in another order: the loader of the code compares the variables of ir/address_variable.h. Addresses
// of another kind are looked up (looked_up_functions.h).
void number_functions(llvm::Module& module, const bundle::KernelInfo& info);

}  // namespace mneme::codegen::nvptx
