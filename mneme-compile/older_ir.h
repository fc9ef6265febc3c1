// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <string_view>

namespace mneme::compile {

// IR as text that the release `major` of LLVM, from 16 on, reads: without information for debuggers, and without
// attributes and flags that came later, none of which changes results. `code_object` gets the version of AMD's code
// object that the IR asks for; 0: none. Not confined.
std::string ir_for_release(std::string_view ir, unsigned major, unsigned& code_object);

}  // namespace mneme::compile
