// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

namespace mneme::codegen::nvptx {

// Of IR that was made of PTX, after its pipeline has run: a product and a sum that may be fused go to the assembler as
// they were written, which then decides as it did for the code that ran. LLVM's back end would decide itself, or forbid
// it.
void leave_fusing_to_assembler(llvm::Module& module);

}  // namespace mneme::codegen::nvptx
