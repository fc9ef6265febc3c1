// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace mneme::ir {

// What LLVM reports as fatal, such as a pass that does not find what it needs, is thrown as an Error from here on, with
// what LLVM said. For a process that has only that to tell then: what LLVM held is not given back.
void throw_fatal_errors();

}  // namespace mneme::ir
