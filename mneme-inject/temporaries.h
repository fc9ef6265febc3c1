// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What -save-temps leaves: assembly that may be edited, and then assembled. IR in it would describe code that is no
// more.
#pragma once
#include <string>
#include <vector>

namespace mneme::inject {

// The assembly of device code that a clang command with -save-temps leaves, as its -### says.
std::vector<std::string> kept_assembly(const std::string& steps);

// The assembly without the IR that the pass plugin embeds.
std::string without_ir(const std::string& assembly);

// Runs the command, takes the IR out of the assembly that it leaves, and gives the status as a shell does.
int run_keeping_temporaries(const std::vector<std::string>& command);

}  // namespace mneme::inject
