// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <vector>

namespace mneme::inject {

// The application's own pass plugins that this compiler or linker loads, by file name, as its command line has them.
std::vector<std::string> own_plugins();
// The same of a command line, as /proc/PID/cmdline has it: a final zero behind each word.
std::vector<std::string> own_plugins_in(const std::string& command_line);

}  // namespace mneme::inject
