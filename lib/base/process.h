// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace mneme {

// "exited with status 3", "was killed by SIGSEGV (Segmentation fault)": reads after a name.
std::string describe_wait_status(int status);

// As waitpid() gives it, of a child that has closed all that it had open, so that it has ended or is about to; nothing:
// it goes on for more than a second.
std::optional<int> status_of_ending(pid_t child);

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
