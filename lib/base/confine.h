// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/process.h"

namespace mneme {

// Confines this process, a child that parses or runs code from a stranger, from now on, as far as the system allows: no
// new privileges, no core dumps, and a seccomp filter under which starting programs, sockets, tracing other processes,
// and opening files for writing fail with EPERM. A system without seccomp leaves only the first two; that is no error.
void confine_process();

// After that: starting a process fails, too, and so do signals to others; starting a thread works. The process's end
// then ends all that a stranger's code does.
void confine_to_this_process();

// Likewise for a process that is about to run a program of somebody else's on a stranger's input. It may start
// programs, which are confined then, too; and opening files for writing fails (by Landlock, where the system has it)
// but for pipes that it has already ("/dev/stdout").
void confine_to_programs();

// What `body` returns, run in a confined child process: for handling a stranger's input with code that the input may
// bring down. An Error of the body's is thrown here too; a child that dies is an Error: "<what> was killed by …".
std::string run_confined(const std::string& what, const std::function<std::string()>& body);

// As run_command() (base/process.h), but the program is confined. What it is to write, it gets as "/dev/stdout".
CommandResult run_confined_command(const std::vector<std::string>& argv, const std::string& input);

}  // namespace mneme
