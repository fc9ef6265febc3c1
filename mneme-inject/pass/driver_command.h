// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

namespace mneme::inject {

// The command line of this process: the driver's, or that of a step of it ("clang -cc1 …").
std::vector<std::string> own_command();

// The command of the clang driver that this compiler works for; empty: it cannot be told.
std::vector<std::string> driver_command();

// Whether the command makes text: assembly or IR, which may be edited, and then compiled. IR that was embedded in it
// would describe code that is no more.
bool makes_text();

// Whether the records of the unit's kernels are all that is wanted of it, on standard output.
bool answers_with_records();

}  // namespace mneme::inject
