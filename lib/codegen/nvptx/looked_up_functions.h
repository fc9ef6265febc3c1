// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <llvm/IR/Module.h>

#include "bundle/format.h"

namespace mneme::codegen::nvptx {

// Whether pointers to functions have to be looked up: the recorded ones are the loader's addresses, or numbers that the
// host device made of names, or `assembler` (as in a configuration) makes no table of functions (numbered_functions.h).
bool has_to_look_up(const bundle::KernelInfo& info, const std::string& assembler);

// Functions have the addresses that the recorded memory has for them, whatever the loader does:
//
//   p = &f                  p = 0x7f2b40001200, as recorded (KernelInfo::function_addresses)
//   p(x)                    __mneme_function_at(p)(x)
//
// where __mneme_function_at, a function of this code's own, chooses among the functions by these numbers. A pointer
// that is none of them ends the kernel with a trap. To be called when all is optimised: calls that the optimiser can
// tell are direct by then.
void look_up_functions(llvm::Module& module, const bundle::KernelInfo& info);

}  // namespace mneme::codegen::nvptx
