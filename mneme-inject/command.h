// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

namespace mneme::inject {

// The command to run in place of `command` (compiler and arguments): the same, with what makes its output recordable
// where it compiles HIP. Throws Error for what cannot be made recordable.
std::vector<std::string> recordable(const std::vector<std::string>& command);

// What a compilation of HIP gets.
std::vector<std::string> compile_flags();

// As a shell would have to be given it.
std::string quoted(const std::vector<std::string>& words);

}  // namespace mneme::inject
