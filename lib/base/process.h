// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace mneme {

// "exited with status 3", "was killed by SIGSEGV (Segmentation fault)": reads after a name.
std::string describe_wait_status(int status);

// The file that `name` runs, through PATH, with links followed; empty if there is none.
std::string resolve_program(const std::string& name);

struct CommandResult {
  int status = 0;      // as waitpid gives it
  std::string output;  // standard output
  std::string errors;  // standard error
};

// Runs argv[0] (looked up in PATH) to its end with standard input `input`. Throws Error
// (Exit::kMissing) when it cannot be started.
CommandResult run_command(const std::vector<std::string>& argv, const std::string& input = {});

}  // namespace mneme
