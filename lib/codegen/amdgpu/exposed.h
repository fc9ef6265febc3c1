// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include "bundle/format.h"

namespace mneme::codegen::amdgpu {

// Whoever loads the code can ask where its variables lie, also those that were the unit's own or hidden (as tables of
// virtual functions are), and by the variables of ir/address_variable.h where the functions are whose addresses it
// takes: the recorded memory may point to either. To be called when all is optimised: the kernel's own code stays what
// it is.
void expose_addresses(llvm::Module& module, const bundle::KernelInfo& info);

}  // namespace mneme::codegen::amdgpu
